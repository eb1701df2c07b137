import LockstepStore

/// Hashes and verifies passwords, which is slow on purpose and runs on other threads.
///
/// Each call may throw `overloaded` if too many are waiting, `store(.closed)` after shutting down, and `outOfMemory`.
public protocol PasswordHashing: Sendable {
  /// A hash that no password matches; verifying against it takes as long as against any other.
  var dummy: PasswordHash { get }

  /// Hashes a password with a new salt.
  func hash(_ password: Password) async throws(AccountsError) -> PasswordHash

  /// Whether the password matches. Nothing matches a text that is not a hash.
  func verify(_ password: Password, against hash: PasswordHash) async throws(AccountsError) -> Bool

  /// Derives bytes from a password and 16 bytes of salt, at the cost of a hash.
  func derive(_ count: Int, from password: Password, salt: [UInt8]) async throws(AccountsError) -> [UInt8]

  /// Whether the hash was made with other parameters than the present ones.
  func isOutdated(_ hash: PasswordHash) -> Bool
}
