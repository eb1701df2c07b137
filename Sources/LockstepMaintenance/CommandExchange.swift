import LockstepPostgreSQL
import LockstepSQLite
import LockstepSQLiteStore
import LockstepStore
import LockstepTime

/// Lets a server that uses a store run a command: adds the command to the store, and waits for the outcome.
struct CommandExchange: Sendable {
  static let patience = Duration.seconds(15)
  static let pollInterval = Duration.milliseconds(50)

  let store: ReadableStore
  let time: TimeSource
  let interruption: (any Interruption)?
  let randomWord: @Sendable () -> UInt64
  let pause: @Sendable (Duration) -> Void

  init(
    _ store: ReadableStore,
    _ time: TimeSource,
    _ interruption: (any Interruption)?,
    _ randomWord: @escaping @Sendable () -> UInt64,
    pause: @escaping @Sendable (Duration) -> Void
  ) {
    (self.store, self.time, self.interruption) = (store, time, interruption)
    (self.randomWord, self.pause) = (randomWord, pause)
  }

  /// Lets a server run the command that `insert` adds. Nil if it was withdrawn after a time-out.
  ///
  /// If the server ends in the middle of a command, `goOn` gets the command's id, and runs it in this process.
  /// It returns the reply, or nil if another server uses the store by then.
  func run(
    _ insert: (AdminCommandRecords, String, Timestamp) throws -> Void,
    goOn: (String) throws -> String?
  ) throws -> AdminCommandRecords.Status? {
    let table = try CommandTable(in: store)
    let id = hexadecimal((0..<16).map { _ in UInt8(truncatingIfNeeded: randomWord()) })
    // Once the command is in the store, the server runs it even if this process ends.
    interruption?.hold()
    defer { interruption?.release() }
    try table.write { try insert($0, id, time.now()) }
    let deadline = time.elapsed() + Self.patience
    while true {
      guard let status = try table.read({ try $0.status(of: id) }) else {
        // A server has deleted the command, because it was not valid any more.
        return nil
      }
      if try status.isComplete || status.progress == .done && !isServed {
        try table.write { try $0.delete(id) }
        return status
      }
      if interruption?.isInterrupted == true {
        if try table.withdraw(id) { throw AdminCommandInterruptedError.withdrawn }
        // If the command is still pending, the store was locked, and the loop tries again. Otherwise
        // the row stays, because the server deletes old rows.
        if let status = try table.read({ try $0.status(of: id) }), status.progress != .pending {
          if let outcome = status.outcome, status.reply == nil { throw AdminCommandInterruptedError.tooLate(outcome) }
          throw AdminCommandInterruptedError.begun
        }
      }
      if status.progress == .running, try !isServed, let reply = try goOn(id) {
        try table.write { try $0.delete(id) }
        return .init(.done, reply: reply, isComplete: true)
      }
      if try time.elapsed() >= deadline || hasLostServers, try table.withdraw(id) { return nil }
      pause(Self.pollInterval)
    }
  }

  /// Whether the leases of all servers are over. The servers of a database may have crashed.
  private var hasLostServers: Bool {
    get throws {
      guard case .database(let database) = store else { return false }
      return try !database.read { try $0.isServed() }
    }
  }

  /// Whether a server uses the store now. If none does, no memory has to be updated.
  private var isServed: Bool {
    get throws {
      switch store {
      case .file(let path, _):
        guard let place = StorePath.resolved(path) else { return false }
        // The lock is released at once.
        return (try? StoreLock(store: place)) == nil
      case .database(let database): return try database.read { try $0.isServed() }
      }
    }
  }
}

/// The admin commands of a store that a server uses.
private enum CommandTable {
  case file(SQLiteConnection)
  case database(StoreDatabase)

  init(in store: ReadableStore) throws {
    switch store {
    case .file(let path, _):
      // Checks the schema before anything is written.
      try store.read { _ in }
      let connection = try SQLiteConnection(storeAt: path, journal: .asFound)
      // The server runs the checkpoints. Deleted secrets must not stay in the file's free space.
      try connection.execute("PRAGMA wal_autocheckpoint = 0; PRAGMA secure_delete = ON")
      self = .file(connection)
    case .database(let database): self = .database(database)
    }
  }

  func read<Result>(_ body: (AdminCommandRecords) throws -> Result) throws -> Result {
    switch self {
    case .file(let connection): try body(AdminCommandRecords(connection: .sqlite(connection)))
    case .database(let database): try database.read { try body(AdminCommandRecords(connection: $0)) }
    }
  }

  func write<Result>(_ body: (AdminCommandRecords) throws -> Result) throws -> Result {
    switch self {
    case .file(let connection):
      try connection.transaction { try body(AdminCommandRecords(connection: .sqlite(connection))) }
    case .database(let database):
      try database.write { try body(AdminCommandRecords(connection: $0)) }
    }
  }

  /// Returns whether the command was withdrawn. If it returns false, because the store is locked or
  /// the command has run, the caller must read the status and try again.
  func withdraw(_ id: String) throws -> Bool {
    do {
      return try write { try $0.withdraw(id) }
    } catch let error as SQLiteError where error.kind == .busy {
      return false
    } catch let error as PostgreSQLError where error.kind == .lockTimeout {
      return false
    }
  }
}

/// Receives interruptions such as Ctrl-C. While a server has an admin command, none of them may end
/// this process.
package protocol Interruption: Sendable {
  /// From now on, interruptions are only recorded.
  func hold()

  var isInterrupted: Bool { get }

  /// From now on, an interruption ends this process again.
  func release()
}
