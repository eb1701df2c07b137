import LockstepCollections
import LockstepStore
import LockstepThreading

/// The store's readers, shared fairly between users. One user gets at most half of the threads, so
/// that the others stay free for other users. The networks of the clients take turns: see
/// `BackgroundEncoder`.
package struct UserReaders: Sendable {
  static let waiting = 256
  /// How many reads of a network wait for their turn.
  private static let waitingOfNetwork = 4_096
  /// A user's journal with more bytes is long. Reading all of it takes over a millisecond.
  static let longJournal = 1024 * 1024

  package let readers: StoreReaders
  package let shares: FairShareLimiter<UserID>
  package let networks: FairShareLimiter<NetworkReads>
  let largeUsers = LargeUsers()
  let threads: Int

  /// The long and the short reads of a network have turns of their own, because they have threads of their
  /// own.
  package struct NetworkReads: Hashable, Sendable {
    let network: Int
    var isLong = false
  }

  package init(_ readers: StoreReaders, threads: Int) {
    self.readers = readers
    self.threads = threads
    shares = FairShareLimiter(name: "a user's reads", atOnce: threads / 2, waiting: Self.waiting)
    // A network may use all threads while no other network needs them.
    networks = FairShareLimiter(name: "a network's reads", atOnce: threads, waiting: Self.waitingOfNetwork)
  }

  /// Removes the limits permanently, for a shutdown.
  package func lift() {
    shares.lift()
    networks.lift()
  }

  /// Runs work that calls the store's readers itself, when it is the turn of the user and of the client's network.
  package func takeTurn<Value: Sendable>(
    for user: UserID,
    from network: Int?,
    _ work: () async throws -> Value
  ) async throws -> Value {
    try await shares.run(for: user) {
      guard let network else { return try await work() }
      return try await networks.run(for: NetworkReads(network: network), work)
    }
  }

  /// Queues `body`. `completion` is called once, on the reader thread.
  func submit<Value: Sendable>(
    isLong: Bool,
    _ body: @escaping @Sendable (StoreConnection) throws -> Value,
    completion: @escaping @Sendable (Result<Value, any Error>) -> Void
  ) throws {
    try readers.submit(length: isLong ? .long : .short, body, completion: completion)
  }

  private func read<Value: Sendable>(
    isLong: Bool,
    from network: Int?,
    _ body: @escaping @Sendable (StoreConnection) throws -> Value
  ) async throws -> Value {
    guard let network else { return try await readers.read(length: isLong ? .long : .short, body) }
    return try await networks.run(for: NetworkReads(network: network, isLong: isLong)) {
      try await readers.read(length: isLong ? .long : .short, body)
    }
  }

  /// Runs `body`, which may read the user's whole journal, like `read`. The long reader also reads
  /// long journals. `written` is `UserState.written`, if the state is in memory.
  package func readHistory<Value: Sendable>(
    of user: UserID,
    from network: Int?,
    written: Int?,
    _ body: @escaping @Sendable (StoreConnection) throws -> Value
  ) async throws -> Value {
    if let written, written <= Self.longJournal { return try await read(for: user, from: network, body) }
    return try await shares.run(for: user) { [largeUsers] in
      var isLong = largeUsers.contains(user)
      // `written` includes pruned entries. So only the store knows how long the journal is.
      if !isLong {
        isLong = try await read(isLong: false, from: network) {
          try Journal(connection: $0).keptBytes(of: user) > Self.longJournal
        }
      }
      return try await read(isLong: isLong, from: network, body)
    }
  }

  /// Runs `body` on a reader thread when it is the turn of the user and of the client's network. Without a
  /// network, it waits for the user's turn only.
  package func read<Value: Sendable>(
    for user: UserID,
    from network: Int?,
    _ body: @escaping @Sendable (StoreConnection) throws -> Value
  ) async throws -> Value {
    try await shares.run(for: user) { [largeUsers] in
      try await read(isLong: largeUsers.contains(user), from: network, body)
    }
  }
}
