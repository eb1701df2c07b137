import LockstepPostgreSQL
import LockstepThreading
import LockstepTime

/// Opens connections to the database of one store.
final class PostgreSQLConnector: Sendable {
  /// The use of a connection.
  enum Role {
    /// Group commits.
    case writer
    /// Units: accounts, registered defaults, upkeep.
    case units
    case reader
    /// Reads that take longer.
    case longReader
    /// The commits of other nodes.
    case feed
    /// The start of a node, which may migrate the schema, or wait until another node has done so.
    case migration
    /// A command beside the nodes. Its statements may take as long as they need.
    case command
    /// A side of `lockstep copy`.
    case copy
  }

  /// The oldest server that works, as `server_version_num`.
  static let oldestServer = 150_000

  /// How long a unit waits for its COMMIT: as long as a group does.
  private static let unitCommitTimeout = Duration.seconds(15)

  private let connectionString: String
  private let onWait: @Sendable (any Error) -> Void
  /// The store's id, once it is known. Each later connection must lead to the same store.
  private let id = LockedState<String?>(nil)
  /// The timeline that was read last: see `DatabaseTimeline`.
  private let timeline = LockedState<DatabaseTimeline?>(nil)
  private let follower = LockedState<(any CommitFollower)?>(nil)
  private let opened = LockedState<[OpenedSession]>([])
  /// Cancels the waits of all connections but that of the feed, and those of the feed.
  private let (cancellation, feedCancellation): (PostgreSQLInterrupt, PostgreSQLInterrupt)

  /// A session that nothing has used yet.
  ///
  /// `@unchecked Sendable`: until a thread takes it from `opened`, only the thread of the start uses it.
  private struct OpenedSession: @unchecked Sendable {
    let role: Role
    let session: PostgreSQLSession
  }

  /// `onWait` gets the first failure of a connection that is tried again.
  init(_ connectionString: String, onWait: @escaping @Sendable (any Error) -> Void = { _ in }) throws {
    (self.connectionString, self.onWait) = (connectionString, onWait)
    (cancellation, feedCancellation) = (try PostgreSQLInterrupt(), try PostgreSQLInterrupt())
  }

  /// From now on, no connection waits for the database, except for that of the feed. Work that waits fails, also
  /// a commit whose outcome is not known.
  func cancelWaits() { cancellation.interrupt() }

  /// From now on, the connection of the feed does not wait either.
  func cancelFeed() { feedCancellation.interrupt() }

  func setID(_ id: String) { self.id.withLock { $0 = id } }

  /// Sets the follower that hears of connections of the writer and of units.
  func setFollower(_ follower: any CommitFollower) { self.follower.withLock { $0 = follower } }

  /// Notifies the follower. Returns how the timeline has changed since the last connection.
  func writerHasConnected(in timeline: DatabaseTimeline) -> DatabaseTimeline.Change? {
    let last = self.timeline.withLock { last in
      defer { last = timeline }
      return last
    }
    let change = last.flatMap { timeline.change(since: $0) }
    follower.withLock { $0 }?.writerHasConnected(isOtherHistory: change != nil)
    return change
  }

  func setTimeline(_ timeline: DatabaseTimeline) { self.timeline.withLock { $0 = timeline } }

  func unitsHaveConnected() { follower.withLock { $0 }?.unitsHaveConnected() }

  /// The channel of the store's notifications.
  var channel: String { "lockstep_" + (id.withLock { $0 } ?? "") }

  /// Opens connections that `connect` hands out later. So a node finds out at its start whether it gets
  /// the `needed` ones in all, of which it has `others` already. Tries again for about `patience`.
  func open(_ roles: [Role], besides others: Int = 0, of needed: Int, within patience: Duration) throws {
    let deadline = ContinuousClock.now + patience
    for role in roles {
      do {
        let session = try openSession(role, until: deadline)
        opened.withLock { $0.append(OpenedSession(role: role, session: session)) }
      } catch let error as PostgreSQLError where error.kind == .tooManyConnections {
        let count = others + opened.withLock { $0.count }
        closeOpened()
        throw StoreError.tooFewConnections(open: count, needed: needed, error)
      }
    }
  }

  /// Throws if one of the connections that wait leads to another store than the id that was set.
  func checkOpened() throws {
    for opened in opened.withLock({ $0 }) { try checkStore(of: opened.session) }
  }

  /// Closes the connections that were not handed out.
  func closeOpened() {
    let all = opened.withLock { opened in
      defer { opened = [] }
      return opened
    }
    for opened in all { opened.session.connection.close() }
  }

  /// Lends an open connection to `body`, unless it is lost.
  func withOpened(_ role: Role, _ body: (PostgreSQLSession) throws -> Void) {
    guard let session = takeOpened(role) else { return }
    do { try body(session) } catch { return }
    opened.withLock { $0.append(OpenedSession(role: role, session: session)) }
  }

  /// Takes an open connection out of those that wait. Drops those that were lost meanwhile.
  private func takeOpened(_ role: Role) -> PostgreSQLSession? {
    while true {
      let session = opened.withLock { opened in
        opened.firstIndex { $0.role == role }.map { opened.remove(at: $0).session }
      }
      guard let session else { return nil }
      _ = try? session.connection.notifications(waitingAtMost: .zero)
      if !session.connection.isBroken { return session }
    }
  }

  /// Connects, and tries again for about `patience` while no server can be reached.
  func connect(_ role: Role, within patience: Duration) throws -> PostgreSQLSession {
    if let session = takeOpened(role) { return session }
    return try openSession(role, until: .now + patience)
  }

  private func openSession(_ role: Role, until deadline: ContinuousClock.Instant) throws -> PostgreSQLSession {
    var hasFailed = false
    while true {
      do {
        return try openSession(role)
      } catch let error as PostgreSQLError where error.isTemporary && ContinuousClock.now < deadline {
        if !hasFailed { onWait(error) }
        hasFailed = true
        Self.pause(for: .milliseconds(250))
      }
    }
  }

  /// Sleeps between two attempts.
  static func pause(for time: Duration) {
    _ = LockedState(()).wait(atMost: time.wholeNanoseconds) { _ -> Void? in nil }
  }

  func connect(_ role: Role) throws -> PostgreSQLSession { try takeOpened(role) ?? openSession(role) }

  private func openSession(_ role: Role) throws -> PostgreSQLSession {
    var options = PostgreSQLConnection.Options()
    // Longer than the statements may take. Keepalives notice a server that disappears.
    switch role {
    case .writer, .reader, .feed: break
    case .units, .longReader: options.responseTimeout = .seconds(75)
    case .migration, .command, .copy: options.responseTimeout = .seconds(86_400)
    }
    options.cancellation = role == .feed ? feedCancellation : cancellation
    let connection = try PostgreSQLConnection(connectionString, options: options)
    try Self.check(connection)
    try connection.set(Self.settings(for: role))
    let session = PostgreSQLSession(connection, commitTimeout: role == .units ? Self.unitCommitTimeout : nil)
    try checkStore(of: session)
    return session
  }

  /// Throws if the store is another one than that of the first connection.
  private func checkStore(of session: PostgreSQLSession) throws {
    guard let id = id.withLock({ $0 }) else { return }
    let found = try StoreConnection.postgreSQL(session).storeID()
    guard found == id else { throw StoreError.otherStore(name: Self.name(of: session.connection)) }
  }

  /// Throws if the server cannot hold a store.
  private static func check(_ connection: PostgreSQLConnection) throws {
    let name = name(of: connection)
    if connection.serverVersion < oldestServer {
      throw StoreError.unusableDatabase(
        name: name,
        what: "the server is PostgreSQL \(connection.serverVersion / 10_000), and Lockstep needs 15 or later",
        advice: "Upgrade PostgreSQL."
      )
    }
    if let encoding = connection.parameter("server_encoding"), encoding != "UTF8" {
      throw StoreError.unusableDatabase(
        name: name,
        what: "its encoding is \(encoding), and Lockstep needs UTF8",
        advice: "Create a database with ENCODING 'UTF8'."
      )
    }
    if connection.isStandby {
      throw StoreError.unusableDatabase(
        name: name,
        what: "the server is a read-only standby",
        advice: "Name the primary, or all servers with target_session_attrs=read-write."
      )
    }
  }

  /// The database in messages.
  static func name(of connection: PostgreSQLConnection) -> String {
    "\(connection.database) on \(connection.host)"
  }

  private static func settings(for role: Role) -> [PostgreSQLSetting] {
    typealias Setting = PostgreSQLSetting
    let all = [
      Setting("client_min_messages", "warning"), Setting("timezone", "UTC"), Setting("bytea_output", "hex"),
      Setting("default_transaction_isolation", "read committed"), Setting("idle_session_timeout", "0"),
    ]
    func timeLimits(statement: String, lock: String? = nil, idleInTransaction: String = "10s") -> [Setting] {
      [
        Setting("statement_timeout", statement), Setting("idle_in_transaction_session_timeout", idleInTransaction),
      ] + (lock.map { [Setting("lock_timeout", $0)] } ?? [])
    }
    let jitOff = Setting("jit", "off")
    // A plan that is made while a table is empty would read all of it later.
    let fixedPlans = [
      Setting("plan_cache_mode", "force_generic_plan"), Setting("enable_seqscan", "off"),
      Setting("enable_bitmapscan", "off"), Setting("enable_hashjoin", "off"), Setting("enable_mergejoin", "off"),
      jitOff,
    ]
    switch role {
    // If the locks of a user are not free within a second, the group goes on without the user.
    case .writer: return all + [.durableCommits] + fixedPlans + timeLimits(statement: "10s", lock: "1s")
    case .feed: return all + fixedPlans + timeLimits(statement: "10s")
    case .units: return all + [.durableCommits, jitOff] + timeLimits(statement: "60s", lock: "5s")
    case .reader: return all + [jitOff] + timeLimits(statement: "10s")
    case .longReader: return all + [jitOff] + timeLimits(statement: "60s")
    case .migration:
      return all + [.durableCommits] + timeLimits(statement: "0", lock: "10min", idleInTransaction: "0")
    case .command: return all + [.durableCommits] + timeLimits(statement: "0", lock: "5s", idleInTransaction: "10min")
    // Without statistics of the new rows, a range of users would look like most of the table. A copy that
    // was interrupted goes on where it ended, so only its last transaction waits for the disk.
    case .copy:
      return all + [Setting("synchronous_commit", "off"), Setting("enable_seqscan", "off"), jitOff]
        + timeLimits(statement: "0", lock: "5s", idleInTransaction: "10min")
    }
  }
}

extension PostgreSQLError {
  /// Whether the server may accept a connection a moment later.
  fileprivate var isTemporary: Bool {
    switch kind {
    case .cannotConnect, .lostConnection, .timedOut, .tooManyConnections, .shutdown: true
    // Only with `target_session_attrs`: during a failover, all servers may be standbys for some seconds.
    case .readOnly: true
    default: false
    }
  }
}
