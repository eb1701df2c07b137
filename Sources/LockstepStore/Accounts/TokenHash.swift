import LockstepSQLite

/// What the store and the memory know of a token: its BLAKE2b-256, from which there is no way back.
///
/// 256 random bits need no salt and no slow hash: there is no list of likely ones.
package struct TokenHash: Sendable, Hashable {
  package let words: SIMD4<UInt64>

  package init(words: SIMD4<UInt64>) {
    self.words = words
  }

  /// One word is enough: whoever makes tokens whose hashes agree in it has done 2^32 hashes for each pair, and the table's
  /// own seed spreads what remains.
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
