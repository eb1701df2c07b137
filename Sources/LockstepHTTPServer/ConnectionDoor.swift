import LockstepHTTP

/// A handler's door to its connection, from wherever the handler is: to the request's body, and to
/// a streamed response.
final class ConnectionDoor: BodySource, BodyWriter {
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

  func write(_ bytes: [UInt8]) async throws {
    try await write(bytes, on: isolation)
  }

  private func write(_ bytes: [UInt8], on isolation: isolated LoopIsolation) async throws {
    guard !bytes.isEmpty else { return }
    connection.gather(piece: bytes)
    guard await connection.flushAll() else { throw CancellationError() }
  }
}
