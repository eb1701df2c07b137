import LockstepSQLite

/// The key of the tags in a store's tokens. It is kept only in the store.
public struct TokenKey: Sendable, Equatable, Redacted, SQLiteConvertible {
  package let words: SIMD4<UInt64>

  init(random: () -> UInt64) {
    words = SIMD4(random(), random(), random(), random())
  }

  /// 32 bytes.
  public var sqliteValue: SQLiteValue { TokenHash(words: words).sqliteValue }

  /// Reads exactly 32 bytes.
  public init?(sqliteValue: SQLiteValue) {
    guard let bits = TokenHash(sqliteValue: sqliteValue) else { return nil }
    words = bits.words
  }
}

extension TokenKey {
  /// The store's key, created if there is none. Call it once at start, in a transaction.
  public static func findOrMake(in connection: SQLiteConnection, random: () -> UInt64) throws -> TokenKey {
    let stored = try connection.first("SELECT key FROM token_key") { row in try row[0] as TokenKey }
    if let stored { return stored }
    let new = TokenKey(random: random)
    try connection.run("INSERT INTO token_key (only_row, key) VALUES (1, ?)", new)
    return new
  }
}
