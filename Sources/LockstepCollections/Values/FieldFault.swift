/// One thing that is wrong with what somebody has sent: where, and what would be right.
public struct FieldFault: Sendable, Equatable {
  /// A JSON Pointer to the field, for example `/email`.
  public let pointer: String
  /// The fault in one sentence. It does not repeat the client's input.
  public let detail: String

  /// A fault at a place.
  public init(pointer: String, detail: String) {
    self.pointer = pointer
    self.detail = detail
  }
}
