import CLockstepSQLite

extension DatabaseHandle {
  /// A compiled statement of a longer text, and the position after it.
  struct Step {
    /// The caller must finalize it. Nil if only spaces and comments are left in the text.
    let statement: OpaquePointer?
    let end: Int
  }

  func compile(_ text: [UInt8], from start: Int = 0, isCached: Bool) throws(SQLiteError) -> Step {
    if text.contains(0) {
      let message = "the SQL contains a NUL character, after which SQLite reads nothing"
      throw error(SQLITE_MISUSE, message, sql: excerpt(text, from: start))
    }
    var statement: OpaquePointer?
    var end = text.count
    let flags = isCached ? UInt32(SQLITE_PREPARE_PERSISTENT) : 0
    let code = text.withUnsafeBytes { bytes in
      // The array holds `bytes.count` bytes from `base` while this closure runs. SQLite reads no
      // further than the count it gets, sets `tail` within these bytes or to their end, and keeps
      // neither pointer.
      guard let base = bytes.baseAddress?.assumingMemoryBound(to: CChar.self) else { return SQLITE_OK }
      var tail: UnsafePointer<CChar>?
      let code = sqlite3_prepare_v3(
        pointer,
        base + start,
        Int32(clamping: bytes.count - start),
        flags,
        &statement,
        &tail
      )
      if let tail { end = tail - base }
      return code
    }
    guard code == SQLITE_OK else { throw lastError(sql: excerpt(text, from: start)) }
    return Step(statement: statement, end: end)
  }

  /// Compiles text that must be a single statement.
  func compileOnly(_ sql: String) throws(SQLiteError) -> OpaquePointer {
    let text = [UInt8](sql.utf8)
    let step = try compile(text, isCached: true)
    guard let statement = step.statement else {
      throw error(SQLITE_MISUSE, "there is no statement in the SQL", sql: sql)
    }
    guard text[step.end...].allSatisfy({ [0x20, 0x0A, 0x0D, 0x09].contains($0) }) else {
      sqlite3_finalize(statement)
      throw error(SQLITE_MISUSE, "there is more than one statement in the SQL", sql: sql)
    }
    return statement
  }

  /// The text from `start`, to be shown in an error, without comments before the statement.
  func excerpt(_ text: [UInt8], from start: Int) -> String {
    String(decoding: text[start...], as: UTF8.self)
      .split(separator: "\n")
      .drop { line in
        let words = line.drop(while: \.isWhitespace)
        return words.isEmpty || words.hasPrefix("--")
      }
      .joined(separator: "\n")
  }
}
