import LockstepLogging
import LockstepSQLite

extension Logger {
  /// Logs that an operation of the store fails, or works again.
  package func log(_ change: DatabaseWriter.HealthChange) {
    switch change {
    case .began(.commit, let error):
      log(.error, "nothing can be written to the store", ["error": .string("\(error)")])
    case .ended(.commit):
      log(.info, "the store can be written again")
    case .began(.checkpoint, let error):
      log(.warning, "the write-ahead log cannot be checkpointed, and grows", ["error": .string("\(error)")])
    case .began(.read, let error):
      log(.error, "the store cannot be read", ["error": .string("\(error)")])
    case .ended(.read):
      log(.info, "the store can be read again")
    case .ended(.checkpoint):
      log(.info, "the write-ahead log can be checkpointed again")
    }
  }
}
