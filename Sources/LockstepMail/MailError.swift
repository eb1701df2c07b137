import LockstepHTTPClient

/// Why the relay has not accepted a mail.
package struct MailError: Error, Equatable, Sendable, CustomStringConvertible {
  package enum Kind: Sendable, Equatable, CaseIterable {
    /// The relay refused the mail or an address permanently. Sending it again gives the same result.
    case refused
    /// The relay cannot be reached, did not respond in time, or asks to try later.
    case temporary
    /// The relay rejected the user or the password, or requires some.
    case login
    /// The relay offers no encryption, or its certificate is not trusted.
    case encryption
    /// Too many mails are being sent.
    case overloaded
    /// The waiting task was cancelled, or the client was shut down.
    case cancelled
    /// The mail cannot be sent to any relay.
    case invalid
  }

  package let kind: Kind
  /// A message for the operator. It may name the relay and the address, but never credentials or the
  /// mail.
  package let detail: String

  /// Whether the same mail may be accepted later.
  package var mayRetry: Bool { kind != .refused && kind != .invalid }

  package init(_ kind: Kind, _ detail: String) {
    self.kind = kind
    self.detail = detail
  }

  package var description: String { "\(detail) (\(kind))" }
}

extension MailError {
  init(_ failure: TransferError) {
    let isTemporary = (400..<500).contains(failure.status)
    let kind: Kind =
      switch failure.kind {
      case .encryption: .encryption
      case .overloaded: .overloaded
      case .cancelled: .cancelled
      case .login where !isTemporary: .login
      case .broken where [530, 534, 535, 538].contains(failure.status): .login
      case .broken where (500..<600).contains(failure.status): .refused
      case .name, .connection, .privateAddress, .broken, .tooLong, .timeOut, .login, .notBegun: .temporary
      }
    self.init(kind, Self.withoutTokens(failure.detail))
  }

  /// The relay's response may quote the link in the mail. Replaces each run of 32 or more hexadecimal
  /// digits, which may be its token, with `{token}`.
  static func withoutTokens(_ text: String) -> String {
    var (result, digits) = ("", "")
    func add(_ digits: String) { result += digits.count >= 32 ? "{token}" : digits }
    for character in text {
      if character.isHexDigit {
        digits.append(character)
      } else {
        add(digits)
        digits = ""
        result.append(character)
      }
    }
    add(digits)
    return result
  }
}
