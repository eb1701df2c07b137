import LockstepStore

/// What a new password must be. There are no rules about kinds of characters: they make passwords worse.
public struct PasswordRules: Sendable, Equatable {
  /// How many characters (Unicode scalars) it must have at least. Default: 8.
  public var minimumCharacters: Int
  /// How many bytes of UTF-8 it may have. Default: 256.
  public var maximumBytes: Int

  /// Rules with their defaults.
  public init(minimumCharacters: Int = 8, maximumBytes: Int = 256) {
    self.minimumCharacters = minimumCharacters
    self.maximumBytes = maximumBytes
  }

  /// Every rule that the password breaks, each a sentence; none when it's good. `address` is its user's, where that is
  /// known to be one.
  public func faults(in password: Password, of address: EmailAddress?) -> [String] {
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
