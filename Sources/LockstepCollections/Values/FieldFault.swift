/// One thing that is wrong with what somebody has sent: where, and what would be right.
public struct FieldFault: Sendable, Equatable {
  /// A JSON Pointer to the field, for example `/email`.
  public let pointer: String
  /// What is wrong there, in a sentence that doesn't repeat what was sent.
  public let detail: String

  /// A fault at a place.
  public init(pointer: String, detail: String) {
    self.pointer = pointer
    self.detail = detail
  }
}

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
