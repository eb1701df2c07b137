import LockstepHTTP

/// A handler's access to its connection from any thread.
final class ConnectionHandle: BodySource, BodyWriter {
  private let connection: Connection
  private let isolation: LoopIsolation

  init(to connection: Connection) {
    self.connection = connection
    isolation = connection.loop.isolation
  }

  func collect(upTo limit: Int) async throws -> [UInt8] {
    try await collect(upTo: limit, on: isolation)
  }

  private func collect(upTo limit: Int, on isolation: isolated LoopIsolation) async throws -> [UInt8] {
    try await connection.collectBody(upTo: limit)
  }

  func write(_ bytes: consuming [UInt8]) async throws {
    try await write(consume bytes, on: isolation)
  }

  private func write(_ bytes: consuming [UInt8], on isolation: isolated LoopIsolation) async throws {
    guard !bytes.isEmpty else { return }
    // While the client reads, the bytes are only in the output, which is counted.
    connection.gather(piece: consume bytes)
    guard await connection.flushAll() else { throw CancellationError() }
  }
}

/// Wakes a parked connection from any thread. It does not retain the connection.
final class ConnectionWaker: Waker {
  private let loop: EventLoop
  private let token: UInt64

  init(of connection: Connection) {
    loop = connection.loop
    token = connection.token
  }

  func wake() { loop.wake([token]) }
  func join(_ batch: inout WakeBatch) { batch.add(token, of: loop) }
}

/// An actor whose executor is an event loop, so that isolated code runs on the loop's thread.
///
/// This costs less than a preferred executor alone, which Swift looks up after every call.
actor LoopIsolation {
  // Code that retains an isolation also retains a connection, which retains its loop.
  private unowned let loop: EventLoop

  nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

  init(_ loop: EventLoop) { self.loop = loop }
}
