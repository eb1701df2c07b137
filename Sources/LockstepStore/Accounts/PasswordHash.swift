/// The stored form of a password, from which the password cannot be computed.
public struct PasswordHash: Sendable, Equatable, Redacted {
  /// The stored text, which includes the hash's parameters.
  public let text: String

  /// A hash with this stored text.
  public init(_ text: String) {
    self.text = text
  }
}
