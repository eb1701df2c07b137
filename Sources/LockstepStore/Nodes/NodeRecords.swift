import LockstepPostgreSQL
import LockstepTime

/// A node, as the others know it.
package struct NodeRecord: Sendable {
  package let id: String
  package let address: String?
  package let version: String
  package let startedAt: Timestamp
  /// By the clock of the database; nil for a server on SQLite.
  package let leaseUntil: Timestamp?

  package init(id: String, address: String?, version: String, startedAt: Timestamp, leaseUntil: Timestamp?) {
    (self.id, self.address, self.version) = (id, address, version)
    (self.startedAt, self.leaseUntil) = (startedAt, leaseUntil)
  }
}

/// The table `nodes`.
package enum NodeRecords {
  /// How long a row is kept after the end of its lease. Shorter than the time for which rows of `commits`
  /// are kept: a node that still has its row can read all commits that it has missed.
  static let lifetime = "5 minutes"

  /// The nodes whose lease runs, by the time of their start.
  package static func live(in connection: StoreConnection) throws -> [NodeRecord] {
    try connection.all(
      """
      SELECT id, address, version, started_at, (extract(epoch FROM lease_until) * 1000)::bigint
      FROM nodes WHERE lease_until > clock_timestamp() ORDER BY started_at, id
      """
    ) { row in
      NodeRecord(
        id: try row[0],
        address: try row[1],
        version: try row[2],
        startedAt: try row[3],
        leaseUntil: try row[4]
      )
    }
  }

  /// Begins or renews the lease of the node $1, whose memory knows of all commits that the snapshot $5
  /// sees (NULL: no more of them than before). Returns a row for each other node: whether this node's row is
  /// new, whether this node's lease was over, the id and the address of the other node, and whether its lease
  /// runs. If there is no other node, returns one row without the last three values.
  ///
  /// The lease need not outlive a crash of the database, so the commit does not wait for the disk. The setting
  /// counts for this transaction only, because a pooler would give the connection to other clients with it.
  static let renew = PostgreSQLStatement(
    """
    WITH old AS (
      SELECT (lease_until <= clock_timestamp())::int AS was_over FROM nodes WHERE id = $1::text
    ), own AS (
      INSERT INTO nodes (id, address, version, started_at, lease_until, applied)
      VALUES (
        $1::text, $2::text, $3::text, $4::bigint, clock_timestamp() + interval '\(NodeLease.length.wholeMilliseconds) ms',
        coalesce($5::text::pg_snapshot, pg_current_snapshot())
      )
      ON CONFLICT (id) DO UPDATE
        SET lease_until = excluded.lease_until, address = excluded.address,
          applied = coalesce($5::text::pg_snapshot, nodes.applied)
      RETURNING (xmax = 0)::int AS is_new
    ), local AS (
      SELECT set_config('synchronous_commit', 'off', true) AS setting
    )
    SELECT is_new, coalesce(was_over, 0), other.id, other.address, (other.lease_until > now())::int
    FROM own CROSS JOIN local LEFT JOIN old ON true
    LEFT JOIN nodes other ON other.id <> $1::text
    """
  )

  /// Deletes the row of the node $1. Like `renew`, the commit does not wait for the disk or a standby: otherwise the
  /// node would end long after its lease, or leave its row.
  static let leave = PostgreSQLStatement(
    "DELETE FROM nodes WHERE id = $1 AND (SELECT set_config('synchronous_commit', 'off', true)) = 'off'"
  )

  /// Which of the transactions $2 all other nodes know of, or have no lease any more.
  ///
  /// `now()` is older than the snapshot. With a later time, a lease could seem to be over that was renewed
  /// after the snapshot.
  static let readApplied = PostgreSQLStatement(
    """
    SELECT x FROM unnest($2::bigint[]) AS v (x) WHERE NOT EXISTS (
      SELECT FROM nodes
      WHERE id <> $1 AND lease_until > now() AND NOT pg_visible_in_snapshot(x::text::xid8, applied)
    )
    """
  )
}
