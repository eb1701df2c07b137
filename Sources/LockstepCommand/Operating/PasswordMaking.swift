import Lockstep
import LockstepAccounts
import LockstepStore
import LockstepThreading

/// Hashes a password in a command, as the server does.
enum PasswordMaking {
  static func hash(_ password: Password, strength: Argon2Strength) throws -> PasswordHash {
    let workers = try WorkerPool(name: "hash", threads: 1, capacity: 1)
    defer { workers.shutDown() }
    let hasher = Argon2Hasher(try Sodium(), strength: strength, workers: workers)
    return try Blocking.run { try await hasher.hash(password) }
  }
}
