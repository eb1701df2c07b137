import LockstepSQLite

/// The threads that read the store: see `ReaderPool`.
package struct StoreReaders: Sendable {
  let pool: ReaderPool

  package init(_ pool: ReaderPool) {
    self.pool = pool
  }

  /// How many reads wait to run.
  package var waiting: Int { pool.waiting }

  /// Runs `body` on one of the threads, on one state of the store.
  nonisolated(nonsending) package func read<Value: Sendable>(
    length: ReaderPool.Length = .short,
    _ body: @escaping @Sendable (StoreConnection) throws -> Value
  ) async throws -> Value {
    try await pool.read(length: length) { try body(.sqlite($0)) }
  }

  /// Queues `body` like `read`. `completion` is called once, on the reader thread.
  package func submit<Value: Sendable>(
    length: ReaderPool.Length = .short,
    _ body: @escaping @Sendable (StoreConnection) throws -> Value,
    completion: @escaping @Sendable (Result<Value, any Error>) -> Void
  ) throws {
    try pool.submit(length: length, { try body(.sqlite($0)) }, completion: completion)
  }

  /// Queues `body`, which opens its own snapshots (`StoreConnection.snapshot`), one after the other.
  package func submitWithoutSnapshot<Value: Sendable>(
    _ body: @escaping @Sendable (StoreConnection) throws -> Value,
    completion: @escaping @Sendable (Result<Value, any Error>) -> Void
  ) throws {
    try pool.submitWithoutSnapshot({ try body(.sqlite($0)) }, completion: completion)
  }

  /// Sets the listener for failures of the store.
  package func onHealthChange(
    monotonic: @escaping @Sendable () -> Int64,
    _ listener: @escaping @Sendable (DatabaseWriter.HealthChange) -> Void
  ) { pool.onHealthChange(monotonic: monotonic, listener) }

  /// See `ReaderPool.shutDown`.
  package func shutDown() { pool.shutDown() }
}
