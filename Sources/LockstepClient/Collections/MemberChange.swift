/// The change of one member, for types that have the changes of an element.
///
/// A nil of an optional member leaves the member as it is, because the encoding of such a type leaves it out. With
/// `MemberChange`, a change can also remove a member:
///
///     struct PhotoChange: Encodable {
///       var title: MemberChange<String> = .keep
///       var rating: MemberChange<Int> = .keep
///     }
///
///     try await photos.update("photo:1", with: PhotoChange(title: nil, rating: 5))
///
/// This removes the title and sets the rating. A member that is left out stays as it is.
public enum MemberChange<Value> {
  /// The member stays as it is.
  case keep
  /// The member gets a value.
  case set(Value)
  /// The member is removed.
  case clear

  /// Sets the member to a value, or removes it if the value is nil.
  public init(_ value: Value?) { self = value.map { .set($0) } ?? .clear }
}

extension MemberChange: Sendable where Value: Sendable {}
extension MemberChange: Equatable where Value: Equatable {}

extension MemberChange: Encodable where Value: Encodable {
  /// Encodes the value, or null. As a member of an object, `keep` is left out. In any other place, it is null too.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .set(let value): try container.encode(value)
    case .keep, .clear: try container.encodeNil()
    }
  }
}

extension KeyedEncodingContainer {
  /// Encodes the change of a member, and leaves out a member that stays as it is. The code that the compiler writes for
  /// `Encodable` calls this.
  public mutating func encode<Value: Encodable>(_ change: MemberChange<Value>, forKey key: Key) throws {
    switch change {
    case .keep: break
    case .set(let value): try encode(value, forKey: key)
    case .clear: try encodeNil(forKey: key)
    }
  }
}

/// `nil` removes the member.
extension MemberChange: ExpressibleByNilLiteral {
  /// `clear`.
  public init(nilLiteral: ()) { self = .clear }
}

extension MemberChange: ExpressibleByUnicodeScalarLiteral where Value: ExpressibleByUnicodeScalarLiteral {
  /// `set`.
  public init(unicodeScalarLiteral value: Value.UnicodeScalarLiteralType) {
    self = .set(Value(unicodeScalarLiteral: value))
  }
}

extension MemberChange: ExpressibleByExtendedGraphemeClusterLiteral
where Value: ExpressibleByExtendedGraphemeClusterLiteral {
  /// `set`.
  public init(extendedGraphemeClusterLiteral value: Value.ExtendedGraphemeClusterLiteralType) {
    self = .set(Value(extendedGraphemeClusterLiteral: value))
  }
}

extension MemberChange: ExpressibleByStringLiteral where Value: ExpressibleByStringLiteral {
  /// `set`.
  public init(stringLiteral value: Value.StringLiteralType) { self = .set(Value(stringLiteral: value)) }
}

extension MemberChange: ExpressibleByIntegerLiteral where Value: ExpressibleByIntegerLiteral {
  /// `set`.
  public init(integerLiteral value: Value.IntegerLiteralType) { self = .set(Value(integerLiteral: value)) }
}

extension MemberChange: ExpressibleByFloatLiteral where Value: ExpressibleByFloatLiteral {
  /// `set`.
  public init(floatLiteral value: Value.FloatLiteralType) { self = .set(Value(floatLiteral: value)) }
}

extension MemberChange: ExpressibleByBooleanLiteral where Value: ExpressibleByBooleanLiteral {
  /// `set`.
  public init(booleanLiteral value: Value.BooleanLiteralType) { self = .set(Value(booleanLiteral: value)) }
}
