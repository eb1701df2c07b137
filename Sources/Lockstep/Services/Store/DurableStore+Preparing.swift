import SQLite
import Workers

extension DurableStore {
  /// Runs a unit of the writer and waits for it: for what a server needs before it serves.
  func write<Value: Sendable>(_ unit: @escaping @Sendable (Connection) throws -> Value) throws -> Value {
    let outcome = Monitor<Result<Value, any Error>?>(nil)
    try writer.submit(unit) { result in
      outcome.withLock { $0 = result }
      outcome.wakeAll()
    }
    return try outcome.wait { $0 }.get()
  }
}
