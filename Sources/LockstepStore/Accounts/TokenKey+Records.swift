import LockstepSQLite

extension TokenKey {
  /// The store's key; where it has none yet, a new one. To be called at start, in a transaction.
  public static func findOrMake(in connection: Connection, random: () -> UInt64) throws -> TokenKey {
    let stored = try connection.first("SELECT key FROM token_key") { row in try row[0] as TokenKey }
    if let stored { return stored }
    let new = TokenKey(random: random)
    try connection.run("INSERT INTO token_key (only_row, key) VALUES (1, ?)", new)
    return new
  }
}
