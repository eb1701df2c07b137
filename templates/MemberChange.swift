#if canImport(LockstepClient)
  import LockstepClient
#else
  /// The change of one member of an element. `nil` removes the member.
  enum MemberChange<Value> {
    /// The member stays as it is.
    case keep
    /// The member gets a value.
    case set(Value)
    /// The member is removed.
    case clear

    /// Sets the member to a value, or removes it if the value is nil.
    init(_ value: Value?) { self = value.map { .set($0) } ?? .clear }
  }

  extension MemberChange: Sendable where Value: Sendable {}
  extension MemberChange: Equatable where Value: Equatable {}

  extension MemberChange: Encodable where Value: Encodable {
    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      switch self {
      case .set(let value): try container.encode(value)
      case .keep, .clear: try container.encodeNil()
      }
    }
  }

  extension KeyedEncodingContainer {
    /// Leaves out a member that stays as it is.
    mutating func encode<Value: Encodable>(_ change: MemberChange<Value>, forKey key: Key) throws {
      switch change {
      case .keep: break
      case .set(let value): try encode(value, forKey: key)
      case .clear: try encodeNil(forKey: key)
      }
    }
  }

  extension MemberChange: ExpressibleByNilLiteral {
    init(nilLiteral: ()) { self = .clear }
  }

  extension MemberChange: ExpressibleByUnicodeScalarLiteral where Value: ExpressibleByUnicodeScalarLiteral {
    init(unicodeScalarLiteral value: Value.UnicodeScalarLiteralType) {
      self = .set(Value(unicodeScalarLiteral: value))
    }
  }

  extension MemberChange: ExpressibleByExtendedGraphemeClusterLiteral
  where Value: ExpressibleByExtendedGraphemeClusterLiteral {
    init(extendedGraphemeClusterLiteral value: Value.ExtendedGraphemeClusterLiteralType) {
      self = .set(Value(extendedGraphemeClusterLiteral: value))
    }
  }

  extension MemberChange: ExpressibleByStringLiteral where Value: ExpressibleByStringLiteral {
    init(stringLiteral value: Value.StringLiteralType) { self = .set(Value(stringLiteral: value)) }
  }

  extension MemberChange: ExpressibleByIntegerLiteral where Value: ExpressibleByIntegerLiteral {
    init(integerLiteral value: Value.IntegerLiteralType) { self = .set(Value(integerLiteral: value)) }
  }

  extension MemberChange: ExpressibleByFloatLiteral where Value: ExpressibleByFloatLiteral {
    init(floatLiteral value: Value.FloatLiteralType) { self = .set(Value(floatLiteral: value)) }
  }

  extension MemberChange: ExpressibleByBooleanLiteral where Value: ExpressibleByBooleanLiteral {
    init(booleanLiteral value: Value.BooleanLiteralType) { self = .set(Value(booleanLiteral: value)) }
  }
#endif
