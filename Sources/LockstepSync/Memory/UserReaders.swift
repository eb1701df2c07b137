import LockstepCollections
import LockstepSQLite
import LockstepThreading

/// The store's readers, shared fairly: a user gets at most half of the threads, so that other users always find one.
package struct UserReaders: Sendable {
  /// How many reads of a user may wait.
  static let waiting = 256

  package let readers: ReaderPool
  package let shares: FairShareLimiter<UserID>

  /// `threads` is the number of the readers' threads.
  package init(_ readers: ReaderPool, threads: Int) {
    self.readers = readers
    shares = FairShareLimiter(name: "a user's reads", atOnce: threads / 2, waiting: Self.waiting)
  }

  /// Runs `body` on one of the threads, when it is the user's turn: see `ReaderPool.read(_:)` and `FairShareLimiter.run(for:_:)`.
  package func read<Value: Sendable>(
    for user: UserID,
    _ body: @escaping @Sendable (SQLiteConnection) throws -> Value
  ) async throws -> Value {
    try await shares.run(for: user) { try await readers.read(body) }
  }
}
