import LockstepPostgreSQL
import LockstepThreading

/// Runs units, each in a transaction of its own, one after the other on one thread and connection.
///
/// A unit locks what it decides on (`StoreConnection.lock`), because other nodes write too.
final class PostgreSQLUnits: Sendable {
  private struct Unit: Sendable {
    /// Runs in the transaction, and returns the handler for success.
    let run: @Sendable (PostgreSQLSession) throws -> @Sendable () -> Void
    let fail: @Sendable (any Error) -> Void
  }

  private let queue: WorkQueue<Unit>
  private let thread: LockedState<NamedThread?>

  /// Errors contain `name`. `needsStandby`: commits wait for a synchronous standby, if the database has one.
  init(
    _ connector: PostgreSQLConnector,
    feed: CommitFeed,
    name: String = "units",
    capacity: Int = 4_096,
    needsStandby: Bool = true
  ) throws(NamedThread.NotStarted) {
    let queue = WorkQueue<Unit>(name: name, capacity: capacity)
    self.queue = queue
    thread = LockedState(
      try NamedThread(name: name) {
        var loop = UnitLoop(connector: connector, feed: feed, needsStandby: needsStandby)
        while let unit = queue.next() { loop.run(unit) }
        loop.session?.connection.close()
      }
    )
  }

  deinit { stopAccepting()?.detach() }

  var waiting: Int { queue.count }

  func submit<Value: Sendable>(
    _ unit: @escaping @Sendable (StoreConnection) throws -> Value,
    completion: @escaping @Sendable (Result<Value, any Error>) -> Void
  ) throws {
    try queue.offer(
      Unit(
        run: { session in
          let value = try unit(.postgreSQL(session))
          return { completion(.success(value)) }
        },
        fail: { completion(.failure($0)) }
      )
    )
  }

  /// Accepts no more units. Returns when all handlers have been called.
  func shutDown() { stopAccepting()?.join() }

  private func stopAccepting() -> NamedThread? {
    queue.close()
    return thread.withLock { $0.take() }
  }

  private struct UnitLoop {
    let connector: PostgreSQLConnector
    let feed: CommitFeed
    let needsStandby: Bool
    var session: PostgreSQLSession?

    mutating func run(_ unit: Unit) {
      do {
        if needsStandby { try feed.expectConfirmedCommits() }
        try attempt(unit)
      } catch let error as PostgreSQLError where error.isLostConnection && session?.isCommitting != true {
        // PostgreSQL has rolled back. The connection may have been lost long ago.
        session = nil
        do { try attempt(unit) } catch { fail(unit, error) }
      } catch let error as PostgreSQLError where error.isTransient && error.kind != .lockTimeout {
        // Another node had locked the rows. The transaction was rolled back.
        do { try attempt(unit) } catch { fail(unit, error) }
      } catch {
        // The PostgreSQL server has become a standby.
        if (error as? PostgreSQLError)?.kind == .readOnly { session = nil }
        fail(unit, error)
      }
      if session?.connection.isBroken == true { session = nil }
    }

    private func fail(_ unit: Unit, _ error: any Error) {
      unit.fail(needsStandby && error is PostgreSQLError ? feed.reason(of: error) : error)
    }

    private func connect() throws -> PostgreSQLSession {
      let session = try connector.connect(.units)
      connector.unitsHaveConnected()
      return session
    }

    private mutating func attempt(_ unit: Unit) throws {
      let open = try session ?? connect()
      session = open
      let (complete, commit) = try open.transaction {
        let complete = try unit.run(open)
        return (complete, try open.writeAnnouncement())
      }
      // When a right has ended, no node may grant it any more.
      if let commit { feed.whenKnown(commit, complete) } else { complete() }
    }
  }
}
