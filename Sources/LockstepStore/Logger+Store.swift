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
    case .began(.follow, let error):
      log(.error, "the commits of other nodes cannot be read", ["error": .string("\(error)")])
    case .began(.lockedUser, let error):
      log(
        .warning,
        "another program has locked rows of some users, whose writes get 503",
        ["error": .string("\(error)")]
      )
    case .ended(.lockedUser):
      log(.info, "the rows of all users can be written again")
    case .ended(.follow):
      log(.info, "the commits of other nodes can be read again")
    }
  }

  package func log(_ notice: FleetNotice) {
    switch notice {
    case .otherHistory:
      log(
        .warning,
        "a standby of the database was promoted, or a backup was restored: clients whose changes were lost start over"
      )
    case .databaseRestarted:
      log(.info, "the database was restarted")
    case .sharedAddress(let address):
      log(
        .warning,
        "another node has the same address: set --node-address to a URL at which other nodes reach this one alone",
        ["address": .string(address)]
      )
    }
  }
}
