import LockstepRoutes
import LockstepSync
import LockstepThreading

/// The threads that encode long responses and read long bodies.
struct EncodingServices: Sendable {
  private static let threads = 2

  let background: BackgroundEncoder
  /// Reads the bodies of writes and of screens' actions.
  let bodies: BodyDecoder
  private let pool: WorkerPool

  init(_ configuration: Configuration, counter: WorkCounter?) throws {
    pool = try WorkerPool(name: "encode", threads: Self.threads, capacity: 4_096, counter: counter)
    background = BackgroundEncoder(pool, threads: Self.threads)
    bodies = BodyDecoder(background, memory: configuration.limits.bodyMemory)
  }

  var waiting: Int { pool.waiting }

  func shutDown() { pool.shutDown() }
}
