import LockstepCollections
import LockstepPostgreSQL

/// The locks that have names, in PostgreSQL.
///
/// PostgreSQL has one set of advisory locks for each database. The numbers of these locks depend on the
/// schema too, so that the stores in the schemas of a database do not wait for each other. Without a
/// schema, a store cannot be used, but the migrator takes a lock before it says so.
enum NamedLock {
  /// The lock of the declared collections and of the webhooks.
  static let declared = seed(of: DeclaredCollectionsTable.lockName)
  /// Shares a lock until the end of the transaction.
  static let share = PostgreSQLStatement(
    "SELECT pg_advisory_xact_lock_shared(hashtextextended(coalesce(current_schema(), ''), $1))"
  )

  /// A number for the name of a lock, from which PostgreSQL computes the lock's number.
  static func seed(of name: [UInt8]) -> Int64 {
    let hash = DomainHash.of("lock", name, count: 16).prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    return Int64(bitPattern: hash)
  }
}
