/// What is stored of a password: enough to recognise it, and no way back to it.
public struct PasswordHash: Sendable, Equatable, Redacted {
  /// The text that is stored, with the parameters that it was made with.
  public let text: String

  /// A hash that was stored as this text.
  public init(_ text: String) {
    self.text = text
  }
}
