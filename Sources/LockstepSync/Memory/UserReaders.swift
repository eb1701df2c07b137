import LockstepCollections
import LockstepSQLite
import LockstepThreading

/// The store's readers, shared fairly between users. One user gets at most half of the threads, so
/// that the others stay free for other users.
package struct UserReaders: Sendable {
  static let waiting = 256

  package let readers: ReaderPool
  package let shares: FairShareLimiter<UserID>
  let largeUsers = LargeUsers()
  let threads: Int

  package init(_ readers: ReaderPool, threads: Int) {
    self.readers = readers
    self.threads = threads
    shares = FairShareLimiter(name: "a user's reads", atOnce: threads / 2, waiting: Self.waiting)
  }

  /// Runs `body` on a reader thread when it is the user's turn.
  package func read<Value: Sendable>(
    for user: UserID,
    _ body: @escaping @Sendable (SQLiteConnection) throws -> Value
  ) async throws -> Value {
    try await shares.run(for: user) { [largeUsers] in
      try await readers.read(length: largeUsers.contains(user) ? .long : .short, body)
    }
  }
}
