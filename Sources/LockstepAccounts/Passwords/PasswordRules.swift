import LockstepStore

/// The rules for new passwords. No rule demands certain kinds of characters, because such rules
/// lead to worse passwords.
public struct PasswordRules: Sendable, Equatable {
  /// The fewest characters (Unicode scalars). Default: 8.
  public var minimumCharacters = 8
  /// The most bytes of UTF-8. Default: 256.
  public var maximumBytes = 256

  /// A sentence for each rule that the password breaks.
  package func faults(in password: Password, of address: EmailAddress?) -> [String] {
    var faults: [String] = []
    if password.characterCount < minimumCharacters {
      faults.append("The password is shorter than \(minimumCharacters) characters.")
    }
    if password.byteCount > maximumBytes {
      faults.append("The password is longer than \(maximumBytes) bytes.")
    }
    if let address, password.isSame(as: address) {
      faults.append("The password is the same as the e-mail address.")
    }
    return faults
  }
}
