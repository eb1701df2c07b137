/// A field of a state that notifies on every assignment, even of an equal value.
///
/// The same alert twice, or the same route twice, is two events; as a plain field the second would
/// be no change. `$field` gives the pulse itself, whose `count` tells assignments apart.
///
/// A `reduce` that replaces the whole state by a new one begins to count anew. The new pulse notifies
/// if its value or its count differs from the old one's; to have it notify in every case, carry the
/// pulse over before it is assigned: `new.$alert = state.$alert`.
@propertyWrapper
public struct Pulse<Value> {
  private var value: Value

  /// How often a value was assigned.
  public private(set) var count: UInt64 = 0

  /// Starts with a value that was not assigned yet.
  public init(wrappedValue: Value) {
    value = wrappedValue
  }

  /// The value. Assigning counts, whatever is assigned.
  public var wrappedValue: Value {
    get { value }
    set {
      value = newValue
      count &+= 1
    }
  }

  /// The pulse itself, for `states.pulse(\.$field)`. To set it is to carry it over, and does not count.
  public var projectedValue: Pulse {
    get { self }
    set { self = newValue }
  }
}

extension Pulse: Sendable where Value: Sendable {}
/// Equal values of different assignments are unequal pulses: that is what makes them notify.
extension Pulse: Equatable where Value: Equatable {}
