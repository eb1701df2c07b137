import LockstepCollections
import LockstepPostgreSQL

/// The changes of transactions that concern the memory of nodes.
package struct CommitChanges: Sendable {
  /// A table that each node has in memory as a whole.
  package enum Topic: String, Sendable {
    case declaredCollections
    case registeredDefaults
    case serviceTokens
  }

  /// The numbers of the users' latest revisions; nil for a user who was erased.
  package var heads: [UserID: Int?] = [:]
  package var endedSessions: [EndedSession] = []
  package var topics: Set<Topic> = []

  package init() {}

  package var isEmpty: Bool { heads.isEmpty && endedSessions.isEmpty && topics.isEmpty }

  /// Whether the commit is complete only when all nodes know of it. A node that does not could accept a
  /// token that is no longer valid, or respond that there is no such collection.
  var mustBeKnownByAll: Bool {
    !endedSessions.isEmpty || topics.contains(.serviceTokens) || topics.contains(.declaredCollections)
      || heads.values.contains { $0 == nil }
  }
}

/// The memory of a node, which follows the commits of other nodes.
package protocol CommitFollower: Sendable {
  /// Takes in what other nodes have committed. Also called for some commits of this node.
  func apply(_ changes: CommitChanges, from connection: StoreConnection) throws

  /// Compares everything in memory with the store, because commits may have been missed.
  func verify(with connection: StoreConnection) throws

  /// Lets waiting requests check the journal of all users again: hidden entries may have become visible.
  func journalMayHaveGrown()

  /// The node has its lease again, and so may respond from memory again.
  func leaseWasRegained()

  /// The writer has a new connection, and has run no group on it. `isOtherHistory`: after a failover of the database,
  /// which may have lost commits.
  func writerHasConnected(isOtherHistory: Bool)

  /// Units, which write registered defaults, have a new connection, and have run none on it.
  func unitsHaveConnected()
}

extension StoreConnection {
  /// Adds a change of this transaction to those that the other nodes get. In SQLite, there are no others.
  package func announce(_ add: (inout CommitChanges) -> Void) {
    guard case .postgreSQL(let session) = self else { return }
    add(&session.announced)
  }
}

// MARK: The table commits

/// A number for each commit, in the order of the transactions' ids.
struct CommitID: Sendable, Hashable {
  let transaction: Int
}

extension PostgreSQLSession {
  /// Writes the transaction's row in `commits`, if other nodes must know of its changes. Call this at its
  /// end. Returns the transaction's id if all nodes must know of its commit.
  func writeAnnouncement() throws -> CommitID? {
    if announced.isEmpty { return nil }
    let (users, sessions) = (Array(announced.heads), announced.endedSessions)
    var pipeline = PostgreSQLPipeline()
    pipeline.add(
      CommitRows.insert,
      [
        .uuid(origin), .uuids(users.map(\.key.value)),
        .optionalIntegers(users.map { $0.value.map { Int64($0) } }), .uuids(sessions.map(\.id.value)),
        .byteStrings(sessions.map(\.tokenHash.bytes)), .texts(announced.topics.map(\.rawValue)),
      ]
    )
    let transaction = try send(pipeline)[0].row(0).integer(at: 0)
    return announced.mustBeKnownByAll ? CommitID(transaction: transaction) : nil
  }
}

struct CommitReading {
  let changes: CommitChanges
  /// The snapshot that sees the commits.
  let snapshot: String
  /// The age of the oldest commit; nil without one.
  let delay: Duration?
}

/// The statements of the table `commits`.
enum CommitRows {
  /// How long a row is kept. A node that could not read for as long has no connection any more, and
  /// compares all of its memory with the store when it has one.
  static let lifetime = "10 minutes"

  static let insert = PostgreSQLStatement(
    """
    INSERT INTO commits (origin, users, numbers, sessions, session_hashes, topics)
    VALUES ($1, $2, $3, $4, $5, $6) RETURNING xid
    """
  )

  /// The row of a group of transactions.
  static let insertGroup = PostgreSQLStatement(
    "INSERT INTO commits (origin, users, numbers) VALUES ($1, $2, $3)"
  )

  /// Proves that the store can be written.
  ///
  /// The row is new and says nothing, so it locks nothing. If its commit waits, for example for a synchronous standby,
  /// the node can still renew its lease and respond to reads.
  static func check(in connection: StoreConnection) throws {
    guard case .postgreSQL(let session) = connection else { return }
    try session.connection.run(checkWrites, [.uuid(session.origin)])
  }

  private static let checkWrites = PostgreSQLStatement("INSERT INTO commits (origin) VALUES ($1)")

  /// The present snapshot ($2: the last one), and the rows that only the present one sees. States that
  /// the connection $1 has committed are left out.
  private static let read = PostgreSQLStatement(
    """
    WITH new AS MATERIALIZED (
      SELECT * FROM commits
      WHERE xid >= pg_snapshot_xmax($2::text::pg_snapshot) AND pg_visible_in_snapshot(xid, pg_current_snapshot())
      UNION ALL
      SELECT * FROM commits WHERE xid = ANY (ARRAY(SELECT pg_snapshot_xip($2::text::pg_snapshot)))
    )
    SELECT 'snapshot', pg_current_snapshot()::text, NULL::uuid,
      (SELECT (extract(epoch FROM clock_timestamp() - min(at)) * 1000000)::bigint FROM new), NULL::bytea
    UNION ALL
    SELECT 'head', NULL, v.u, v.n, NULL FROM new, unnest(new.users, new.numbers) AS v (u, n) WHERE origin <> $1
    UNION ALL
    SELECT 'session', NULL, v.i, NULL, v.h FROM new, unnest(new.sessions, new.session_hashes) AS v (i, h)
    UNION ALL
    SELECT 'topic', v.t, NULL, NULL, NULL FROM new, unnest(new.topics) AS v (t)
    """
  )

  /// The commits that `snapshot` did not see, and the snapshot that sees them.
  static func changes(
    after snapshot: String,
    except origin: PostgreSQLUUID,
    from session: PostgreSQLSession
  ) throws -> CommitReading {
    var pipeline = PostgreSQLPipeline()
    pipeline.add(read, [.uuid(origin), .text(snapshot)])
    var (changes, next, delay) = (CommitChanges(), snapshot, Int?.none)
    try session.send(pipeline)[0].forEach { row in
      switch try row.text(at: 0) {
      case "snapshot":
        next = try row.text(at: 1)
        delay = row.isNull(at: 3) ? nil : try row.integer(at: 3)
      case "head":
        let user = try row.userID(at: 2)
        // Two rows may be read in any order. An erased user does not come back.
        let number: Int? = row.isNull(at: 3) ? nil : try row.integer(at: 3)
        if let known = changes.heads[user] {
          changes.heads[user] = .some(known.flatMap { known in number.map { max(known, $0) } })
        } else {
          changes.heads[user] = .some(number)
        }
      case "session":
        let id = try row.sessionID(at: 2)
        if let hash = TokenHash(bytes: try row.bytes(at: 4)) {
          changes.endedSessions.append(EndedSession(id: id, tokenHash: hash))
        }
      default: if let topic = CommitChanges.Topic(rawValue: try row.text(at: 1)) { changes.topics.insert(topic) }
      }
    }
    return CommitReading(changes: changes, snapshot: next, delay: delay.map { .microseconds($0) })
  }
}
