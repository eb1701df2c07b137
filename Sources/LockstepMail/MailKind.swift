/// A mail that the server sends. Its raw value is the beginning of its files' names.
package enum MailKind: String, CaseIterable, Sendable {
  /// A link to choose a new password.
  case passwordReset = "password-reset"
  /// A link to confirm a new address, or the present one.
  case emailProof = "email-proof"
  /// Notifies the old address that the account has another one.
  case emailChanged = "email-changed"

  /// The placeholders that a template of this mail may contain. If the link is one, it must.
  var placeholders: [MailPlaceholder] {
    switch self {
    case .passwordReset, .emailProof: [.link, .email, .minutes, .server]
    case .emailChanged: [.email, .server]
    }
  }
}

/// A part of a template that is replaced: its name in braces, such as `{link}`.
enum MailPlaceholder: String, CaseIterable, Sendable {
  case link
  /// The address that the mail is sent to.
  case email
  /// How long the link works.
  case minutes
  /// The host of the public URL, and its port if it has one.
  case server
}
