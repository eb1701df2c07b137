import LockstepLogging
import LockstepSQLiteStore
import LockstepThreading

/// Logs when operations of the store begin to fail, and when they work again.
package final class HealthLog: Sendable {
  private let logger: Logger
  private let standstill: @Sendable () -> Duration?
  /// The work whose failures a standstill explains. The log has no line for the end of such a failure. A failure that
  /// lasts has another reason, so it is logged like any other.
  private let explained = LockedState<Set<DatabaseWriter.Work>>([])

  /// `standstill` returns for how long the process got no processor time a moment ago. PostgreSQL ends transactions
  /// and connections of such a process.
  package init(_ logger: Logger, standstill: @escaping @Sendable () -> Duration?) {
    (self.logger, self.standstill) = (logger, standstill)
  }

  package func note(_ change: DatabaseWriter.HealthChange) {
    switch change {
    case .began(let work, let error):
      guard let length = standstill() else { break }
      explained.withLock { _ = $0.insert(work) }
      return logger.log(
        .warning,
        "the database ended work of this node, which stood still: the node goes on",
        ["seconds": .integer(length.wholeMilliseconds / 1_000), "error": .string("\(error)")]
      )
    case .lasts(let work, let error):
      if explained.withLock({ $0.remove(work) }) != nil { logger.log(.began(work, error)) }
      return
    case .ended(let work):
      if explained.withLock({ $0.remove(work) }) != nil { return }
    }
    logger.log(change)
  }
}

extension Logger {
  fileprivate func log(_ change: DatabaseWriter.HealthChange) {
    switch change {
    case .lasts: break
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
    case .began(.busyUser, _):
      log(
        .warning,
        "writes of some users get 503, because their locks are not free: another node hangs, or a commit waits in the "
          + "database"
      )
    case .ended(.busyUser):
      log(.info, "the locks of all users are free again")
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
    case .nodeLost(let id, let address):
      log(
        .warning,
        "another node has lost its lease: it hangs, was killed, or cannot reach the database. Until it has a lease "
          + "again, requests for its screens fail",
        ["node": .string(id), "address": address.map { .string($0) } ?? .null]
      )
    case .nodeBack(let id, let address, let time):
      log(
        .info,
        "the other node has its lease again",
        [
          "node": .string(id), "address": address.map { .string($0) } ?? .null,
          "seconds": .integer(time.wholeMilliseconds / 1_000),
        ]
      )
    case .stoodStill(let length):
      log(
        .warning,
        "this node stood still: the process was stopped, its machine was paused, or the machine is too busy",
        ["seconds": .integer(length.wholeMilliseconds / 1_000)]
      )
    case .standbySilent:
      log(
        .error,
        "the synchronous standby of the database does not confirm commits: writes wait and get 503, reads go on"
      )
    case .standbyConfirms:
      log(.info, "the synchronous standby confirms commits again, or is not needed any more")
    }
  }
}
