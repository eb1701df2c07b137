import CLockstepSQLite

/// Turns text into prepared statements, one at a time.
struct StatementCompiler {
  let database: DatabaseHandle

  /// A statement out of a longer text, and where the text goes on.
  struct Step {
    /// Nil where the text holds nothing but spaces and comments. To be finalized by whoever takes it.
    let statement: OpaquePointer?
    let end: Int
  }

  /// Compiles the first statement at `start`. `kept` says that it will be used many times.
  func compile(_ text: [UInt8], from start: Int = 0, kept: Bool) throws(SQLiteError) -> Step {
    if text.contains(0) {
      throw SQLiteError(
        extendedCode: SQLITE_MISUSE,
        message: "the SQL contains a NUL character, behind which SQLite reads nothing",
        sql: excerpt(text, from: start),
        path: database.path
      )
    }
    var statement: OpaquePointer?
    var end = text.count
    let flags = kept ? UInt32(SQLITE_PREPARE_PERSISTENT) : 0
    let code = text.withUnsafeBytes { bytes in
      // The array holds `bytes.count` bytes from its start while this closure runs; SQLite reads no further than the
      // count it is given, sets `tail` within them or to their end, and keeps neither.
      guard let base = bytes.baseAddress?.assumingMemoryBound(to: CChar.self) else { return SQLITE_OK }
      var tail: UnsafePointer<CChar>?
      let code = sqlite3_prepare_v3(
        database.pointer,
        base + start,
        Int32(clamping: bytes.count - start),
        flags,
        &statement,
        &tail
      )
      if let tail { end = tail - base }
      return code
    }
    guard code == SQLITE_OK else { throw database.lastError(sql: excerpt(text, from: start)) }
    return Step(statement: statement, end: end)
  }

  /// Compiles a text that must be one statement.
  func compileOnly(_ sql: String) throws(SQLiteError) -> OpaquePointer {
    let text = [UInt8](sql.utf8)
    let step = try compile(text, kept: true)
    guard let statement = step.statement else {
      throw SQLiteError(
        extendedCode: SQLITE_MISUSE,
        message: "there is no statement in the SQL",
        sql: sql,
        path: database.path
      )
    }
    guard text[step.end...].allSatisfy({ [0x20, 0x0A, 0x0D, 0x09].contains($0) }) else {
      sqlite3_finalize(statement)
      throw SQLiteError(
        extendedCode: SQLITE_MISUSE,
        message: "there is more than one statement in the SQL",
        sql: sql,
        path: database.path
      )
    }
    return statement
  }

  /// What is left of a text, as an error shows it: without the lines of comment that it begins with.
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
