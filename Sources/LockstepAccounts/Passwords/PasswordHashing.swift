import LockstepStore

/// Makes and checks hashes of passwords, which takes long on purpose, off the loops.
///
/// Each computation may be refused: with `overloaded` when too many wait, with `store(.closed)` when the hasher has been
/// shut down, with `outOfMemory`.
public protocol PasswordHashing: Sendable {
  /// A hash that no password has; checking one against it takes as long as against any other.
  var dummy: PasswordHash { get }

  /// Hashes a password, with a salt of its own.
  func hash(_ password: Password) async throws(AccountsError) -> PasswordHash

  /// Whether the hash is the password's. A text that is no hash is nobody's.
  func verify(_ password: Password, against hash: PasswordHash) async throws(AccountsError) -> Bool

  /// As many bytes as are asked for, made of a password and of 16 bytes of salt, always the same and at the price of a hash.
  func derive(_ count: Int, from password: Password, salt: [UInt8]) async throws(AccountsError) -> [UInt8]

  /// Whether the hash was made with other parameters than those of now.
  func isOutdated(_ hash: PasswordHash) -> Bool
}
