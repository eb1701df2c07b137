import LockstepCollections

/// Collects all faults of a request, so that the client learns every one at once.
struct FieldCheck {
  private(set) var faults: [FieldFault] = []

  /// The value that `read` returns; nil, and a fault, if it throws.
  mutating func value<Value>(at pointer: String, _ read: () throws -> Value) -> Value? {
    do {
      return try read()
    } catch {
      add(["\(error)"], at: pointer)
      return nil
    }
  }

  mutating func add(_ details: [String], at pointer: String) {
    faults += details.map { FieldFault(pointer: pointer, detail: $0) }
  }

  /// Throws all faults.
  func finish() throws(AccountsError) {
    if !faults.isEmpty { throw .invalid(faults) }
  }
}
