/// A numbered step of the store's schema: a file of this folder, embedded in the program.
public struct Migration: Sendable, Equatable {
  /// Consecutive, from 1.
  public let number: Int
  /// The file's name without `.sql`, such as `0001_store`.
  public let name: String
  /// The file's statements. They run in one transaction, so they contain no BEGIN or COMMIT.
  public let sql: String

  /// A step with its number, name and statements.
  public init(number: Int, name: String, sql: String) {
    self.number = number
    self.name = name
    self.sql = sql
  }

  private init(_ number: Int, _ name: String, _ file: [UInt8]) {
    self.init(number: number, name: name, sql: String(decoding: file, as: UTF8.self))
  }

  /// All steps of a store in SQLite, in order.
  ///
  /// To add one, write the next numbered file and add a line here: Package.swift embeds the whole
  /// folder, but Swift cannot list embedded files at run time. Never change a released file: the server would reject stores that have applied it.
  public static let all: [Migration] = [
    Migration(1, "0001_store", PackageResources._001_store_sql),
    Migration(2, "0002_accounts", PackageResources._002_accounts_sql),
    Migration(3, "0003_state", PackageResources._003_state_sql),
    Migration(4, "0004_eras", PackageResources._004_eras_sql),
    Migration(5, "0005_history_size", PackageResources._005_history_size_sql),
    Migration(6, "0006_modules", PackageResources._006_modules_sql),
    Migration(7, "0007_orders", PackageResources._007_orders_sql),
    Migration(8, "0008_cleared_gaps", PackageResources._008_cleared_gaps_sql),
    Migration(9, "0009_session_keys", PackageResources._009_session_keys_sql),
    Migration(10, "0010_administration", PackageResources._010_administration_sql),
    Migration(11, "0011_declared_collections", PackageResources._011_declared_collections_sql),
    Migration(12, "0012_collection_commands", PackageResources._012_collection_commands_sql),
    Migration(13, "0013_credentials", PackageResources._013_credentials_sql),
    Migration(14, "0014_webhooks", PackageResources._014_webhooks_sql),
    Migration(15, "0015_mail_links", PackageResources._015_mail_links_sql),
    Migration(16, "0016_shortest_password", PackageResources._016_shortest_password_sql),
  ]

  /// All steps of a store in PostgreSQL, in order. Each name differs from those of SQLite.
  public static let postgreSQL: [Migration] = [
    Migration(1, "0001_identity", PackageResources._001_identity_sql),
    Migration(2, "0002_users", PackageResources._002_users_sql),
    Migration(3, "0003_collections", PackageResources._003_collections_sql),
    Migration(4, "0004_nodes", PackageResources._004_nodes_sql),
    Migration(5, "0005_feed", PackageResources._005_feed_sql),
    Migration(6, "0006_attempts", PackageResources._006_attempts_sql),
    Migration(7, "0007_timelines", PackageResources._007_timelines_sql),
    Migration(8, "0008_declared_collections", PackageResources._008_declared_collections_sql),
    Migration(9, "0009_credentials", PackageResources._009_credentials_sql),
    Migration(10, "0010_webhooks", PackageResources._010_webhooks_sql),
    Migration(11, "0011_mail_links", PackageResources._011_mail_links_sql),
    Migration(12, "0012_password_length", PackageResources._012_password_length_sql),
  ]
}
