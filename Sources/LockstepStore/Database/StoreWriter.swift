import LockstepSQLite

/// The thread that writes the store: see `DatabaseWriter`.
package struct StoreWriter: Sendable {
  @usableFromInline let writer: DatabaseWriter

  package init(_ writer: DatabaseWriter) {
    self.writer = writer
  }

  /// Queues a unit: see `DatabaseWriter.submit`.
  @inlinable
  package func submit<Value: Sendable>(
    _ unit: @escaping @Sendable (StoreConnection) throws -> Value,
    of owner: WriteOwner? = nil,
    completion: @escaping @Sendable (Result<Value, any Error>) -> Void
  ) throws {
    try writer.submit({ try unit(.sqlite($0)) }, of: owner, completion: completion)
  }

  /// Runs a unit and returns its value when its changes are on disk: see `DatabaseWriter.write`.
  @inlinable
  nonisolated(nonsending) package func write<Value: Sendable>(
    of owner: WriteOwner? = nil,
    _ unit: @escaping @Sendable (StoreConnection) throws -> Value
  ) async throws -> Value {
    try await writer.write(of: owner) { try unit(.sqlite($0)) }
  }

  package var statistics: DatabaseWriter.Statistics { writer.statistics }

  /// Sets the listener for failures of the store.
  package func onHealthChange(_ listener: @escaping @Sendable (DatabaseWriter.HealthChange) -> Void) {
    writer.onHealthChange(listener)
  }

  /// See `DatabaseWriter.shutDown`.
  package func shutDown() { writer.shutDown() }
}
