import LockstepSQLite

/// The BLAKE2b-256 hash of a token, by which its session is found in the store and in memory.
///
/// A token has 256 random bits, so it needs neither a salt nor a slow hash.
package struct TokenHash: Sendable, Hashable {
  package let words: SIMD4<UInt64>

  package init(words: SIMD4<UInt64>) {
    self.words = words
  }

  /// One word is enough: an attacker needs 2^32 hashes to find two tokens with the same word, and
  /// the hash table is seeded.
  package func hash(into hasher: inout Hasher) {
    hasher.combine(words.x)
  }
}

extension TokenHash: SQLiteConvertible {
  /// 32 bytes.
  var bytes: [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(32)
    for index in 0..<32 {
      bytes.append(UInt8(truncatingIfNeeded: words[index / 8] >> UInt64(56 - 8 * (index % 8))))
    }
    return bytes
  }

  init?(bytes: [UInt8]) {
    guard bytes.count == 32 else { return nil }
    var words = SIMD4<UInt64>()
    for index in 0..<32 { words[index / 8] = words[index / 8] << 8 | UInt64(bytes[index]) }
    self.init(words: words)
  }

  package var sqliteValue: SQLiteValue { .blob(bytes) }

  package init?(sqliteValue: SQLiteValue) {
    guard case .blob(let bytes) = sqliteValue else { return nil }
    self.init(bytes: bytes)
  }
}

/// The key of the authentication tags in a store's tokens: 32 bytes, kept only in the store.
package struct TokenKey: Sendable, Equatable, Redacted, SQLiteConvertible {
  package let words: SIMD4<UInt64>

  init(random: () -> UInt64) {
    words = SIMD4(random(), random(), random(), random())
  }

  package var sqliteValue: SQLiteValue { TokenHash(words: words).sqliteValue }

  package init?(sqliteValue: SQLiteValue) {
    guard let bits = TokenHash(sqliteValue: sqliteValue) else { return nil }
    words = bits.words
  }

  /// A hash that only this store's servers can compute, of `count` bytes, 16 to 64. The same parts,
  /// hashed for two purposes, give different hashes.
  package func hash(for purpose: String, _ parts: [UInt8]..., count: Int) -> [UInt8] {
    DomainHash.of(purpose, parts: [TokenHash(words: words).bytes] + parts, count: count)
  }

  /// A secret for another purpose, as hexadecimal digits. It reveals nothing about the key.
  package func secret(for purpose: String) -> String {
    hexadecimal(hash(for: "secret \(purpose)", count: 32))
  }

  /// The store's key, created if there is none. Call it once at start, in a transaction.
  package static func findOrMake(in connection: StoreConnection, random: () -> UInt64) throws -> TokenKey {
    // Another node may start at the same time.
    try connection.lock(Array("token key".utf8))
    let stored = try connection.first("SELECT key FROM token_key") { row in try row[0] as TokenKey }
    if let stored { return stored }
    let new = TokenKey(random: random)
    try connection.run("INSERT INTO token_key (only_row, key) VALUES (1, ?)", new)
    return new
  }
}
