import LockstepCollections

/// Gathers all faults of what somebody has sent, so that they hear of every one at once.
struct FieldCheck {
  private(set) var faults: [FieldFault] = []

  /// The field's value as `read` makes it; nil, and a fault, when it throws.
  mutating func value<Value, Invalid: Error & CustomStringConvertible>(
    at pointer: String,
    _ read: () throws(Invalid) -> Value
  ) -> Value? {
    do throws(Invalid) {
      return try read()
    } catch {
      faults.append(FieldFault(pointer: pointer, detail: error.description))
      return nil
    }
  }

  /// Adds faults of a field.
  mutating func add(_ details: [String], at pointer: String) {
    faults += details.map { FieldFault(pointer: pointer, detail: $0) }
  }

  /// Throws all that was found.
  func finish() throws(AccountsError) {
    if !faults.isEmpty { throw .invalid(faults) }
  }
}
