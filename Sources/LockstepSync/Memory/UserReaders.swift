import LockstepCollections
import LockstepStore
import LockstepThreading

/// The store's readers, shared fairly between users. One user gets at most half of the threads, so
/// that the others stay free for other users.
package struct UserReaders: Sendable {
  static let waiting = 256
  /// A user's journal with more bytes is long. Reading all of it takes over a millisecond.
  static let longJournal = 1024 * 1024

  package let readers: StoreReaders
  package let shares: FairShareLimiter<UserID>
  let largeUsers = LargeUsers()
  let threads: Int

  package init(_ readers: StoreReaders, threads: Int) {
    self.readers = readers
    self.threads = threads
    shares = FairShareLimiter(name: "a user's reads", atOnce: threads / 2, waiting: Self.waiting)
  }

  /// Runs `body`, which may read the user's whole journal, like `read`. The long reader also reads
  /// long journals. `written` is `UserState.written`, if the state is in memory.
  package func readHistory<Value: Sendable>(
    of user: UserID,
    written: Int?,
    _ body: @escaping @Sendable (StoreConnection) throws -> Value
  ) async throws -> Value {
    if let written, written <= Self.longJournal { return try await read(for: user, body) }
    return try await shares.run(for: user) { [largeUsers] in
      var isLong = largeUsers.contains(user)
      // `written` includes pruned entries. So only the store knows how long the journal is.
      if !isLong {
        isLong = try await readers.read { try Journal(connection: $0).keptBytes(of: user) > Self.longJournal }
      }
      return try await readers.read(length: isLong ? .long : .short, body)
    }
  }

  /// Runs `body` on a reader thread when it is the user's turn.
  package func read<Value: Sendable>(
    for user: UserID,
    _ body: @escaping @Sendable (StoreConnection) throws -> Value
  ) async throws -> Value {
    try await shares.run(for: user) { [largeUsers] in
      try await readers.read(length: largeUsers.contains(user) ? .long : .short, body)
    }
  }
}
