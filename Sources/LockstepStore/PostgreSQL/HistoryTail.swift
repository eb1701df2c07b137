import LockstepCollections
import LockstepPostgreSQL

/// The end of a user's history, with the entries that a state in memory lacks.
struct HistoryTail {
  /// Nil if there is no such user.
  var head: (revision: Revision, written: Int)?
  private var missed: [MissedEntry] = []

  var hasMissed: Bool { !missed.isEmpty }

  mutating func add(_ entry: MissedEntry) { missed.append(entry) }

  /// The user's state at the end: a state in memory with the changes of other nodes that it lacks.
  /// Throws `StaleStateError` if the state in memory is not in the user's history.
  func latest(_ state: UserState, by tables: ModuleTables) throws -> UserState {
    guard let head, state.revision != head.revision else { return state }
    let latest = try state.applying(missed, by: tables)
    guard latest.revision == head.revision else { throw StaleStateError() }
    return latest
  }

  /// Like `latest`, if the entries were read after the head. Then the state may be newer than the head.
  fileprivate func newest(_ state: UserState, by tables: ModuleTables) throws -> UserState {
    guard let head, state.revision.number <= head.revision.number else { throw StaleStateError() }
    let newest = try state.applying(missed, by: tables)
    guard newest.revision == head.revision || newest.revision.number > head.revision.number else {
      throw StaleStateError()
    }
    return newest
  }

  // MARK: Reading

  private static let lockUsers = PostgreSQLStatement(
    "SELECT pg_advisory_xact_lock(l) FROM unnest($1::bigint[]) AS v (l)"
  )
  private static let readHeads = PostgreSQLStatement(
    "SELECT user_id, number, era, written FROM heads WHERE user_id = ANY($1::uuid[])"
  )
  // LATERAL and OFFSET 0 make the planner look up each user's entries, whatever its statistics say.
  private static let readMissed = PostgreSQLStatement(
    """
    SELECT v.u, j.number, j.era, j.collection, j.mutations, j.written
    FROM unnest($1::uuid[], $2::bigint[], $3::bigint[]) AS v (u, n, e)
    CROSS JOIN LATERAL (
      SELECT number, position, era, collection, mutations, written FROM journal
      WHERE user_id = v.u AND number >= v.n AND (number > v.n OR era <> v.e) ORDER BY number, position OFFSET 0
    ) AS j
    """
  )

  /// Adds the statements that read the tails of histories. `known` are the revisions in memory. If
  /// `locking` is true, no other node can write these users before the end of the transaction.
  static func read(
    _ known: [(user: UserID, revision: Revision)],
    locking: Bool,
    in pipeline: inout PostgreSQLPipeline
  ) -> Reading {
    if locking { pipeline.add(lockUsers, [.integers(known.map(\.user.lockNumber).sorted())]) }
    let users = PostgreSQLValue.uuids(known.map(\.user.value))
    let heads = pipeline.add(readHeads, [users])
    let missed = pipeline.add(
      readMissed,
      [
        users, .integers(known.map { Int64($0.revision.number) }),
        .integers(known.map { Int64($0.revision.eraNumber) }),
      ]
    )
    return Reading(heads: heads, missed: missed)
  }

  /// The places of the results in a pipeline.
  struct Reading {
    fileprivate let heads: Int
    fileprivate let missed: Int

    func forEachHead(of results: [PostgreSQLResult], _ body: (UserID, Revision, _ written: Int) throws -> Void) throws {
      try results[heads].forEach { row in
        let revision = Revision(number: try row.integer(at: 1), eraNumber: try row.integer(at: 2))
        try body(try row.userID(at: 0), revision, Journal.possible(try row.integer(at: 3)))
      }
    }

    func forEachMissed(of results: [PostgreSQLResult], _ body: (UserID, MissedEntry) throws -> Void) throws {
      try results[missed].forEach { row in try body(try row.userID(at: 0), try MissedEntry(row, at: 1)) }
    }
  }
}

extension UserID {
  /// The number of the user's lock in PostgreSQL. Each transaction takes the locks of its users first, in
  /// the order of the numbers, so no two transactions wait for each other.
  ///
  /// These are advisory locks and not the locks of rows, because a transaction that locks a row gets its
  /// id. Without one, its id is later than those of all transactions for which it has waited. So the
  /// journal of all users has each user's entries in order.
  var lockNumber: Int64 { Int64(bitPattern: uuid.low) }
}

/// The result of comparing a state in memory with the store.
package enum RefreshedState: Sendable {
  case unchanged
  case newer(UserState)
  /// The user was erased, or the state is not in the user's history. It must be loaded again.
  case lost
}

extension ModuleTables {
  /// Compares states in memory with the store, and brings them up to date. In SQLite, states in memory
  /// are always up to date.
  package func refresh(_ states: [UserID: UserState], from connection: StoreConnection) throws -> [UserID:
    RefreshedState]
  {
    guard case .postgreSQL(let session) = connection else { return states.mapValues { _ in .unchanged } }
    var refreshed: [UserID: RefreshedState] = [:]
    var rest = Array(states)[...]
    while !rest.isEmpty {
      let part = rest.prefix(Self.refreshedAtOnce)
      rest = rest.dropFirst(part.count)
      var pipeline = PostgreSQLPipeline()
      let reading = HistoryTail.read(part.map { ($0.key, $0.value.revision) }, locking: false, in: &pipeline)
      let results = try session.send(pipeline)
      var tails: [UserID: HistoryTail] = [:]
      try reading.forEachHead(of: results) { tails[$0, default: HistoryTail()].head = ($1, $2) }
      try reading.forEachMissed(of: results) { tails[$0, default: HistoryTail()].add($1) }
      for (user, state) in part { refreshed[user] = tails[user].map { refresh(state, $0) } ?? .lost }
    }
    return refreshed
  }

  private static let refreshedAtOnce = 1_000

  private func refresh(_ state: UserState, _ tail: HistoryTail) -> RefreshedState {
    guard let latest = try? tail.newest(state, by: self) else { return .lost }
    return latest.revision == state.revision ? .unchanged : .newer(latest)
  }
}
