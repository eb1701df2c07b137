import CLockstepPostgreSQL

/// Checks a connection string before libpq connects with it.
///
/// The messages of libpq quote the part of the string that it cannot parse, which may be a part of
/// the password. So they are not repeated. A password with an unescaped `@` or `/` would become a
/// part of the host, the port or the database, and libpq would quote these. Such strings are refused.
enum ConnectionString {
  static func check(_ text: String, _ libpq: PostgreSQLLibrary) throws(PostgreSQLError) {
    func refuse(_ message: String) -> PostgreSQLError {
      PostgreSQLError(kind: .invalidConnectionString, message: message, operation: .parse)
    }
    guard !text.utf8.contains(0) else { throw refuse("it contains the character U+0000") }
    var reason: UnsafeMutablePointer<CChar>?
    guard let options = libpq.functions.conninfoParse(text, &reason) else {
      defer { libpq.functions.freemem(reason) }
      throw refuse(explanation(reason.map { String(cString: $0) } ?? ""))
    }
    defer { libpq.functions.conninfoFree(options) }
    if hasUnescapedSeparator(text) {
      throw refuse("it has an @ or a / in the wrong place; write %40 for an @ and %2F for a / in the password")
    }
    if let port = value(of: "port", in: options),
      !port.allSatisfy({ $0.isASCII && $0.isNumber || $0 == "," || $0 == " " })
    {
      throw refuse("the port is not a number; in the password of a URI, write %3A for a colon and %2F for a /")
    }
  }

  /// The value of an option, from the list that libpq returned. The list ends with a null keyword.
  static func value(of keyword: String, in options: UnsafePointer<PQconninfoOption>) -> String? {
    var option = options
    while let name = option.pointee.keyword {
      if String(cString: name) == keyword { return option.pointee.val.map { String(cString: $0) } }
      option += 1
    }
    return nil
  }

  private static func explanation(_ reason: String) -> String {
    let explanations = [
      ("missing \"=\"", "a word has no = after it; put a value that contains spaces into single quotes"),
      ("unterminated quoted string", "a value's closing quote is missing"),
      ("invalid connection option", "it has an option that libpq does not know"),
      ("invalid URI query parameter", "it has an option that libpq does not know"),
      ("key/value separator", "the options after its ? are not pairs such as sslmode=require"),
      ("percent-encoded", "a % is not followed by two hexadecimal digits"),
      ("IPv6", "its IPv6 address is incomplete"),
    ]
    return explanations.first { reason.contains($0.0) }?.1 ?? "libpq cannot parse it"
  }

  /// Whether a URI has an `@` that libpq would take for a part of the host or of the database. Finds
  /// the end of the password as libpq does: at the first `@`, unless a `/` is before it.
  private static func hasUnescapedSeparator(_ text: String) -> Bool {
    guard let start = ["postgresql://", "postgres://"].first(where: { text.hasPrefix($0) }) else { return false }
    var rest = text.dropFirst(start.count)
    if let end = rest.firstIndex(where: { $0 == "@" || $0 == "/" }), rest[end] == "@" {
      rest = rest[rest.index(after: end)...]
    }
    return rest.prefix { $0 != "?" }.contains("@")
  }
}
