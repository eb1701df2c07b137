/// A field of a state that notifies observers of every assignment, even of an equal value.
///
/// Showing the same alert twice is two events. In a plain field, the second would be no change.
/// `$field` is the pulse itself, whose `count` distinguishes assignments.
///
/// A `reduce` that replaces the whole state resets the count. The new pulse then notifies only if
/// its value or count differs from the old one's. To notify in every case, copy the old pulse
/// before you assign the new value: `new.$alert = state.$alert`.
@propertyWrapper
public struct Pulse<Value> {
  private var value: Value

  /// How often a value was assigned.
  public private(set) var count: UInt64 = 0

  /// How often a value other than `nil` was assigned: how often the pulse fired. Clearing a pulse
  /// does not change it.
  public private(set) var fired = 0

  /// Starts with a value and a count of 0.
  public init(wrappedValue: Value) {
    value = wrappedValue
  }

  /// The value. Every assignment increases `count`. An assignment other than `nil` also increases
  /// `fired`.
  public var wrappedValue: Value {
    get { value }
    set {
      value = newValue
      count &+= 1
      if (newValue as? any NilComparable)?.isNil != true { fired &+= 1 }
    }
  }

  /// The pulse itself, for `states.pulse(\.$field)`. Setting it copies value and count.
  public var projectedValue: Pulse {
    get { self }
    set { self = newValue }
  }
}

extension Pulse {
  /// Assigns `nil`. If the value is `nil` already, does nothing, so observers are not notified.
  public mutating func clear<Wrapped>() where Value == Wrapped? {
    if value != nil { wrappedValue = nil }
  }
}

extension Pulse: Sendable where Value: Sendable {}
/// Compares the counts too, so a state differs from the one before after every assignment.
extension Pulse: Equatable where Value: Equatable {}

/// An optional, whatever it wraps.
private protocol NilComparable {
  var isNil: Bool { get }
}

extension Optional: NilComparable {
  fileprivate var isNil: Bool { self == nil }
}
