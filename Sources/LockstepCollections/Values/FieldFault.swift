/// One wrong field of a request, and how to correct it.
public struct FieldFault: Sendable, Equatable {
  /// A JSON Pointer to the field, for example `/email`.
  public let pointer: String
  /// The fault in one sentence. It does not repeat the client's input.
  public let detail: String

  /// Creates a fault.
  public init(pointer: String, detail: String) {
    self.pointer = pointer
    self.detail = detail
  }
}
