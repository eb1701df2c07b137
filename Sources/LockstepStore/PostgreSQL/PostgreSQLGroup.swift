import LockstepCollections
import LockstepJSON
import LockstepPostgreSQL
import LockstepThreading
import LockstepTime

/// A group whose users' heads are locked.
struct PostgreSQLGroup {
  let transactions: [PendingTransaction]
  private var facts: [UserID: LockedFacts] = [:]
  /// The revision of the declared collections. They do not change until the group is committed.
  let declared: Revision
  /// Whether a webhook gets an event for each revision. This does not change until then either.
  let notifiesWebhooks: Bool

  /// Begins a transaction, and locks the users. If `begins` is false, `busyUsers` has done both. If
  /// `waitsBriefly` is true, statements fail soon when another transaction has locked what they need.
  init(
    _ transactions: [PendingTransaction],
    in session: PostgreSQLSession,
    begins: Bool = true,
    waitsBriefly: Bool = false
  ) throws {
    self.transactions = transactions
    let users = Array(Set(transactions.map(\.user)))
    var known: [UserID: Revision] = [:]
    for transaction in transactions where known[transaction.user] == nil {
      known[transaction.user] = transaction.subject.known()
    }
    var pipeline = PostgreSQLPipeline()
    if begins { pipeline.add(Self.begin) }
    if waitsBriefly { pipeline.add(Self.waitBriefly) }
    pipeline.add(NamedLock.share, [.integer(NamedLock.declared)])
    let declared = pipeline.add(Self.readDeclared)
    // With these locks, no transaction deletes a token before this one has ended.
    let agents = Set(transactions.compactMap { $0.subject.serviceToken?.exact }).sorted().map { $0.text }
    for agent in agents {
      pipeline.add(NamedLock.share, [.integer(NamedLock.seed(of: ServiceTokenRecords.lockName(of: agent)))])
    }
    let tokens = agents.isEmpty ? nil : pipeline.add(Self.readServiceTokens, [.texts(agents)])
    // The transactions of a user without a state in memory fail, so nothing is read for them.
    let tails = HistoryTail.read(
      users.map { ($0, known[$0] ?? Revision(rawValue: .max)) },
      locking: begins,
      in: &pipeline
    )
    let asking = transactions.compactMap { transaction in transaction.subject.session.map { (transaction.user, $0) } }
    let sessions = pipeline.add(Self.readSessions, [.uuids(asking.map(\.0.value)), .uuids(asking.map(\.1.value))])
    let keyed = transactions.compactMap { transaction in transaction.subject.key.map { (transaction.user, $0.key) } }
    let keys =
      keyed.isEmpty ? nil : pipeline.add(Self.readKeys, [.uuids(keyed.map(\.0.value)), .texts(keyed.map(\.1))])
    let results = try session.send(pipeline)
    var found: Set<ExactText> = []
    if let tokens { try results[tokens].forEach { found.insert(try $0.text(at: 0).exact) } }
    for user in users { facts[user] = LockedFacts(serviceTokens: found) }
    let shared = results[declared].row(0)
    self.declared = Revision(rawValue: try shared.integer(at: 0))
    notifiesWebhooks = try shared.integer(at: 1) == 1
    try tails.forEachHead(of: results) { facts[$0]?.tail.head = ($1, $2) }
    try tails.forEachMissed(of: results) { facts[$0]?.tail.add($1) }
    try results[sessions].forEach { row in facts[try row.userID(at: 0)]?.add(try row.sessionID(at: 1)) }
    guard let keys else { return }
    try results[keys].forEach { row in
      let recorded = LockedFacts.RecordedResponse(
        fingerprint: try row.bytes(at: 2),
        at: Timestamp(millisecondsSince1970: Int64(try row.integer(at: 3))),
        response: StoredResponse(
          status: try row.integer(at: 4),
          fields: try row.bytes(at: 5),
          body: row.isNull(at: 6) ? nil : try row.bytes(at: 6)
        )
      )
      facts[try row.userID(at: 0)]?.add(recorded, for: try row.text(at: 1))
    }
  }

  /// Begins a transaction, and locks the users that no other transaction has locked. Returns
  /// the others.
  static func busyUsers(of group: [PendingTransaction], in session: PostgreSQLSession) throws -> Set<UserID> {
    let users = Array(Set(group.map(\.user)))
    var pipeline = PostgreSQLPipeline()
    pipeline.add(begin)
    let locks = pipeline.add(tryLocks, [.uuids(users.map(\.value)), .integers(users.map(\.lockNumber))])
    var busy: Set<UserID> = []
    try session.send(pipeline)[locks].forEach { busy.insert(try $0.userID(at: 0)) }
    return busy
  }

  private static let tryLocks = PostgreSQLStatement(
    "SELECT v.u FROM unnest($1::uuid[], $2::bigint[]) AS v (u, l) WHERE NOT pg_try_advisory_xact_lock(v.l)"
  )

  /// How many users have a state in memory that lacks commits of other nodes.
  var outdatedStates: Int { facts.values.count { $0.tail.hasMissed } }

  /// Decides on the transactions in order, on at least one. Stops after `limit` nanoseconds, because
  /// PostgreSQL waits meanwhile and holds the locks. `throttle` gets the time of each transaction.
  func decide(
    by tables: ModuleTables,
    within limit: Int64,
    monotonic: () -> Int64,
    throttle: inout WriteThrottle<PendingTransaction>
  ) -> Decided {
    var decided = Decided()
    var heldBack: Set<UserID> = []
    var (total, start): (Int64, Int64) = (0, monotonic())
    for transaction in transactions {
      // Transactions of one user stay in order.
      let mustWait =
        total >= limit || heldBack.contains(transaction.user)
        || !decided.outcomes.isEmpty && throttle.holdsBack(transaction, now: start)
      if mustWait {
        heldBack.insert(transaction.user)
        decided.rest.append(transaction)
        continue
      }
      let outcome = Result { try decide(transaction, by: tables) }
      let now = monotonic()
      let writes = (try? outcome.get())?.writes
      let time = now - start + (writes?.expectedTime ?? 0)
      throttle.note(transaction, took: time, now: now)
      (total, start) = (total + time, now)
      if let writes { decided.writes.append(writes) }
      decided.outcomes.append((transaction, outcome.map(\.complete)))
    }
    return decided
  }

  /// The decided part of a group.
  struct Decided {
    var outcomes: [(transaction: PendingTransaction, outcome: Result<@Sendable () -> Void, any Error>)] = []
    var writes: [WriteSet] = []
    /// The transactions that a later group decides, in order.
    var rest: [PendingTransaction] = []
  }

  private func decide(
    _ transaction: PendingTransaction,
    by tables: ModuleTables
  ) throws -> (writes: WriteSet?, complete: @Sendable () -> Void) {
    // All users of the group have facts.
    guard let facts = facts[transaction.user] else { throw StaleStateError() }
    let decision = try transaction.decide(.locked(facts, tables))
    if let set = decision.writes { facts.note(set) }
    return decision
  }

  /// The second round trip.
  func commit(_ sets: [WriteSet], in session: PostgreSQLSession) throws {
    let ranks = try StoredRanks(for: sets, from: session)
    var writes = GroupWrites(notifiesWebhooks: notifiesWebhooks)
    for set in sets { try writes.add(set, ranks) }
    var pipeline = PostgreSQLPipeline()
    writes.add(to: &pipeline, origin: session.origin)
    pipeline.add(PostgreSQLSession.commit)
    _ = try session.send(pipeline)
  }

  // The lock is that of the webhooks too (`WebhookRecords.lock`).
  private static let readDeclared = PostgreSQLStatement(
    """
    SELECT coalesce(max(revision), 0), EXISTS (
      SELECT FROM webhooks
      WHERE name IS NOT NULL AND disabled_at IS NULL AND strpos(' ' || events || ' ', ' state.changed ') > 0
    )::int
    FROM declared_collections
    """
  )
  private static let begin = PostgreSQLStatement("BEGIN ISOLATION LEVEL READ COMMITTED")
  private static let waitBriefly = PostgreSQLStatement("SELECT set_config('lock_timeout', '100ms', true)")
  private static let readSessions = PostgreSQLStatement(
    """
    SELECT v.u, s.id FROM unnest($1::uuid[], $2::uuid[]) AS v (u, i)
    CROSS JOIN LATERAL (SELECT id FROM sessions WHERE user_id = v.u AND id = v.i OFFSET 0) AS s
    """
  )
  private static let readServiceTokens = PostgreSQLStatement(
    "SELECT id FROM service_tokens WHERE id = ANY ($1::text[])"
  )
  private static let readKeys = PostgreSQLStatement(
    """
    SELECT v.u, v.k, r.fingerprint, r.at, r.status, r.fields, r.body
    FROM unnest($1::uuid[], $2::text[]) AS v (u, k)
    CROSS JOIN LATERAL (
      SELECT fingerprint, at, status, fields, body FROM idempotency_keys WHERE user_id = v.u AND key = v.k OFFSET 0
    ) AS r
    """
  )
}

extension PostgreSQLRow {
  func userID(at column: Int) throws -> UserID { try identifier(at: column) }

  func sessionID(at column: Int) throws -> SessionID { try identifier(at: column) }

  private func identifier<Subject>(at column: Int) throws -> Identifier<Subject> {
    let uuid = try uuid(at: column)
    guard let id = UUIDv7(high: uuid.high, low: uuid.low) else {
      throw PostgreSQLError.mismatch(column: column, found: "\(uuid)", wanted: "UUIDv7")
    }
    return Identifier(id)
  }
}
