/// The part of a mail that tells the relay where it goes.
package struct MailEnvelope: Sendable {
  /// The addresses, without names and angle brackets.
  package let sender: String
  package let recipient: String
  /// The user and the password of the relay.
  package let login: (user: String, password: String)?
  /// Whether the client sends nothing but its name before the connection is encrypted.
  package let requiresTLS: Bool

  package init(sender: String, recipient: String, login: (user: String, password: String)?, requiresTLS: Bool) {
    self.sender = sender
    self.recipient = recipient
    self.login = login
    self.requiresTLS = requiresTLS
  }
}
