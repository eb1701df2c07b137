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
