import LockstepCollections
import LockstepSQLite
import LockstepThreading

/// The store's readers, as users share them: none keeps more than half of the threads busy, however much they ask for, so
/// that there is one for the others.
package struct UserReaders: Sendable {
  /// How much of one user's may wait.
  static let waiting = 256

  package let readers: ReaderPool
  package let shares: FairShareLimiter<UserID>

  /// Readers with so many threads.
  package init(_ readers: ReaderPool, threads: Int) {
    self.readers = readers
    shares = FairShareLimiter(name: "a user's reads", atOnce: threads / 2, waiting: Self.waiting)
  }

  /// Runs `body` on one of the threads, when it's the user's turn: see `ReaderPool.read(_:)` and `FairShareLimiter.run(for:_:)`.
  package func read<Value: Sendable>(
    for user: UserID,
    _ body: @escaping @Sendable (SQLiteConnection) throws -> Value
  ) async throws -> Value {
    try await shares.run(for: user) { try await readers.read(body) }
  }
}
