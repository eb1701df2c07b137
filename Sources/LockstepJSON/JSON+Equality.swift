extension JSON: Hashable {
  /// Compares values by the rules that `JSON` describes, without recursion.
  public static func == (left: JSON, right: JSON) -> Bool {
    var pending: [(JSON, JSON)] = []
    guard equalsSoFar(left, right, &pending) else { return false }
    while let (left, right) = pending.popLast() {
      guard contentsEqualSoFar(left, right, &pending) else { return false }
    }
    return true
  }

  /// Compares two values without their children. If both are containers of the same kind and size,
  /// adds them to `pending`, to compare their children later.
  private static func equalsSoFar(_ left: JSON, _ right: JSON, _ pending: inout [(JSON, JSON)]) -> Bool {
    switch (left, right) {
    case (.null, .null): return true
    case (.bool(let left), .bool(let right)): return left == right
    case (.string(let left), .string(let right)): return left.hasSameBytes(as: right)
    case (.integer(let left), .integer(let right)): return left == right
    case (.array(let leftElements), .array(let rightElements)):
      guard leftElements.count == rightElements.count else { return false }
      if !leftElements.isEmpty { pending.append((left, right)) }
      return true
    case (.object(let leftObject), .object(let rightObject)):
      guard leftObject.count == rightObject.count else { return false }
      if !leftObject.isEmpty { pending.append((left, right)) }
      return true
    default:
      guard let left = NumberValue(left), let right = NumberValue(right) else { return false }
      return left == right
    }
  }

  private static func contentsEqualSoFar(_ left: JSON, _ right: JSON, _ pending: inout [(JSON, JSON)]) -> Bool {
    switch (left, right) {
    case (.array(let left), .array(let right)):
      for (left, right) in zip(left, right) where !equalsSoFar(left, right, &pending) { return false }
      return true
    case (.object(let left), .object(let right)):
      for (place, member) in left.members.enumerated() {
        guard let other = right.value(named: member.name, expectedAt: place),
          equalsSoFar(member.value, other, &pending)
        else { return false }
      }
      return true
    default: return false
    }
  }

  /// Deeper containers are hashed only by their size, which bounds the recursion.
  private static let hashedLevels = 8

  /// Hashes the value.
  public func hash(into hasher: inout Hasher) { hash(into: &hasher, levels: Self.hashedLevels) }

  private func hash(into hasher: inout Hasher, levels: Int) {
    switch self {
    case .null: hasher.combine(0)
    case .bool(let value): hasher.combine(value)
    case .integer, .unsigned, .double:
      if let number = NumberValue(self) { hasher.combine(number) }
    case .string(let value): value.hashBytes(into: &hasher)
    case .array(let elements):
      hasher.combine(elements.count)
      guard levels > 0 else { return }
      for element in elements { element.hash(into: &hasher, levels: levels - 1) }
    case .object(let object):
      hasher.combine(object.count)
      guard levels > 0 else { return }
      // The order of the members must not change the hash.
      var sum = 0
      for member in object.members {
        var memberHasher = Hasher()
        member.name.hashBytes(into: &memberHasher)
        member.value.hash(into: &memberHasher, levels: levels - 1)
        sum &+= memberHasher.finalize()
      }
      hasher.combine(sum)
    }
  }
}

private enum NumberValue: Hashable {
  case integer(Int64)
  case unsigned(UInt64)
  case fraction(Double)
  /// All NaNs are equal, as `Hashable` requires.
  case notANumber

  init?(_ value: JSON) {
    switch value {
    case .integer(let integer): self = .integer(integer)
    case .unsigned(let unsigned): self = Int64(exactly: unsigned).map(Self.integer) ?? .unsigned(unsigned)
    case .double(let double):
      if let integer = Int64(sameAs: double) {
        self = .integer(integer)
      } else if let unsigned = UInt64(sameAs: double) {
        self = .unsigned(unsigned)
      } else {
        self = double.isNaN ? .notANumber : .fraction(double)
      }
    default: return nil
    }
  }
}
