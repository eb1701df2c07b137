import LockstepSQLite

/// The BLAKE2b-256 of a token, by which the store and the memory find its session.
///
/// A token has 256 random bits, so that it needs neither a salt nor a slow hash.
package struct TokenHash: Sendable, Hashable {
  package let words: SIMD4<UInt64>

  package init(words: SIMD4<UInt64>) {
    self.words = words
  }

  /// One word is enough: an attacker needs 2^32 hashes for each pair of tokens that collide in it, and the hash table is
  /// seeded.
  package func hash(into hasher: inout Hasher) {
    hasher.combine(words.x)
  }
}

extension TokenHash: SQLiteConvertible {
  /// 32 bytes.
  package var sqliteValue: SQLiteValue {
    .blob(
      [words.x, words.y, words.z, words.w].flatMap { word in
        (0..<8).map { UInt8(truncatingIfNeeded: word >> UInt64(56 - 8 * $0)) }
      }
    )
  }

  package init?(sqliteValue: SQLiteValue) {
    guard case .blob(let bytes) = sqliteValue, bytes.count == 32 else { return nil }
    let words = (0..<4).map { word in
      bytes[(8 * word)..<(8 * word + 8)].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    }
    self.init(words: SIMD4(words))
  }
}
