import CLockstepPostgreSQL

/// An error of PostgreSQL, of libpq or of `LockstepPostgreSQL`, with advice for the operator.
///
/// No text contains the password of a connection string. The description does not contain `detail`,
/// which may quote values of rows. The server's message itself may quote a value that it cannot
/// convert.
public struct PostgreSQLError: Error, Sendable, Equatable {
  /// The kinds of errors, by what a caller can do about them.
  public enum Kind: Sendable, Equatable {
    /// libpq cannot parse the connection string, or refuses one of its values.
    case invalidConnectionString
    /// libpq is not installed.
    case libraryMissing
    /// No server accepted the connection.
    case cannotConnect
    /// The certificate of the server is not valid, or the server has no TLS.
    case encryption
    /// The server refused the user, the password or the address.
    case authentication
    case noSuchDatabase
    case noSuchRole
    /// The service file, or the service in it, does not exist.
    case noSuchService
    /// The connection broke. The connection cannot be used again.
    case lostConnection
    /// The server did not respond in time. The connection cannot be used again.
    case timedOut
    /// The server is a standby, or the transaction is read-only.
    case readOnly
    case tooManyConnections
    case uniqueViolation
    case deadlock
    case serialization
    case lockTimeout
    case undefinedTable
    case undefinedFunction
    case insufficientPrivilege
    case diskFull
    /// The statement was canceled, for example by `statement_timeout`.
    case canceled
    /// The server shuts down or starts, or an administrator ended the connection.
    case shutdown
    /// A parameter or a column does not have the type that the caller expects.
    case mismatch
    /// Any other error, usually SQL that does not fit the schema.
    case other
  }

  /// The failed operation, as the description names it.
  enum Operation: Sendable, Equatable {
    case load(file: String)
    case parse
    case connect
    /// A statement, or the part of a script; nil if it is not known.
    case run(sql: String?)
    case listen
  }

  /// The kind of the error.
  public let kind: Kind
  /// The server's five-character code; nil if the server did not report the error.
  public let sqlState: String?
  /// The message of the server or of libpq.
  public let message: String
  /// The server's second message. It may quote values of rows.
  package let detail: String?
  package let hint: String?
  /// The violated constraint.
  package let constraint: String?
  /// The index of the failed statement in its pipeline; 0 for a single statement.
  package internal(set) var statementIndex: Int?
  let operation: Operation

  init(
    kind: Kind,
    message: String,
    operation: Operation,
    sqlState: String? = nil,
    detail: String? = nil,
    hint: String? = nil,
    constraint: String? = nil,
    statementIndex: Int? = nil
  ) {
    self.kind = kind
    self.message = message
    self.operation = operation
    self.sqlState = sqlState
    self.detail = detail
    self.hint = hint
    self.constraint = constraint
    self.statementIndex = statementIndex
  }

  /// Whether the connection is lost, so that a new one may work.
  package var isLostConnection: Bool { kind == .lostConnection || kind == .shutdown }

  /// Whether the database or the way to it failed, and not the statement.
  package var isStoreFailure: Bool {
    switch kind {
    case .libraryMissing, .invalidConnectionString, .cannotConnect, .encryption, .authentication, .noSuchDatabase,
      .noSuchRole, .noSuchService, .lostConnection, .timedOut, .readOnly, .tooManyConnections, .deadlock,
      .serialization,
      .lockTimeout, .undefinedTable, .undefinedFunction, .insufficientPrivilege, .diskFull, .canceled, .shutdown:
      true
    case .uniqueViolation, .mismatch, .other: false
    }
  }

  /// The message of a wait that was cancelled.
  static let cancellation = "the wait for the server was canceled, because this program ends"

  /// A column has another type than requested.
  package static func mismatch(column: Int, found: String, wanted: String) -> PostgreSQLError {
    PostgreSQLError(
      kind: .mismatch,
      message: "column \(column) has \(found), not \(wanted)",
      operation: .run(sql: nil)
    )
  }

  /// Whether the same transaction may succeed if it is run again.
  package var isTransient: Bool {
    switch kind {
    case .deadlock, .serialization, .lockTimeout: true
    default: false
    }
  }

  /// The error as one of a connection that is being made.
  var whileConnecting: PostgreSQLError {
    guard isLostConnection || kind == .timedOut else { return self }
    return PostgreSQLError(
      kind: kind == .lostConnection ? .cannotConnect : kind,
      message: message,
      operation: .connect,
      sqlState: sqlState,
      detail: detail,
      hint: hint
    )
  }

  /// The kind of a SQLSTATE, which is language-independent.
  static func kind(ofSQLState state: String) -> Kind {
    switch state {
    case "25006": .readOnly
    case "53300": .tooManyConnections
    case "23505": .uniqueViolation
    case "40P01": .deadlock
    case "40001": .serialization
    case "55P03": .lockTimeout
    case "42P01": .undefinedTable
    case "42883": .undefinedFunction
    case "42501": .insufficientPrivilege
    case "53100": .diskFull
    case "57014": .canceled
    case "57P01", "57P02", "57P03": .shutdown
    case "3D000": .noSuchDatabase
    // The server ends sessions that are idle for too long.
    case "57P05", "25P03": .lostConnection
    case _ where state.hasPrefix("28"): .authentication
    case _ where state.hasPrefix("08"): .lostConnection
    default: .other
    }
  }
}

extension PostgreSQLError: CustomStringConvertible {
  /// For example: `PostgreSQL could not run "INSERT INTO …": duplicate key value violates unique
  /// constraint "users_pkey" (SQLSTATE 23505).`
  public var description: String {
    var text = "\(prefix): \(message)"
    while text.hasSuffix(".") { text.removeLast() }
    if let sqlState { text += " (SQLSTATE \(sqlState))" }
    text += "."
    return advice.map { "\(text) \($0)" } ?? text
  }

  private var prefix: String {
    switch operation {
    case .load(let file): "cannot use \(file) (Debian's package libpq5)"
    case .parse: "the PostgreSQL connection string is invalid"
    case .connect: "cannot connect to PostgreSQL"
    case .run(let sql?): "PostgreSQL could not run \"\(Self.shortened(sql))\""
    case .run(nil): "PostgreSQL could not run a statement"
    case .listen: "cannot wait for notifications of PostgreSQL"
    }
  }

  private var advice: String? {
    switch kind {
    case .invalidConnectionString:
      "Write a URI such as postgresql://user@host/database, or options such as host=/run/postgresql dbname=lockstep "
        + "user=lockstep."
    case .cannotConnect:
      "Check that the server runs, and that the host and the port are right."
    case .encryption:
      "Check sslmode and sslrootcert in the connection string, and the certificate of the server."
    case .authentication where operation == .connect:
      "Check the user, the password and the server's pg_hba.conf."
    case .noSuchDatabase where operation == .connect:
      "Create the database, or name another one."
    case .noSuchRole:
      "Create the role, or name another one."
    case .noSuchService:
      "Check the service's name and the service file (PGSERVICEFILE, or .pg_service.conf in the home folder)."
    case .readOnly where operation == .connect:
      // libpq says so only if target_session_attrs asks for a primary.
      "None of the servers in the connection string is a primary that can be written: name the primary too, or promote a "
        + "standby."
    case .readOnly:
      "This server is a standby, or its transactions are read-only by default (default_transaction_read_only): connect to "
        + "the primary."
    case .tooManyConnections:
      "End other connections, or raise the limit of the server (max_connections), the database or the role."
    case .insufficientPrivilege:
      "Grant the role this right. To create or change tables, run `lockstep migrate` as their owner instead."
    case .diskFull:
      "Free some space on the disk of the PostgreSQL server."
    case .lostConnection, .timedOut, .uniqueViolation, .deadlock, .serialization, .lockTimeout, .undefinedTable,
      .undefinedFunction, .canceled, .shutdown, .mismatch, .other, .libraryMissing, .authentication, .noSuchDatabase:
      nil
    }
  }

  /// A statement on one line without its comments, cut after 200 characters.
  private static func shortened(_ sql: String) -> String {
    var words: [Substring] = []
    for line in sql.split(separator: "\n") {
      words += (line.firstRange(of: "--").map { line[..<$0.lowerBound] } ?? line).split(whereSeparator: \.isWhitespace)
    }
    let text = words.joined(separator: " ")
    return text.count > 200 ? text.prefix(200) + "…" : text
  }
}

extension PostgreSQLError {
  /// The error of a result. `isBroken` is true if the error ended the connection.
  init(_ result: OpaquePointer, _ libpq: PostgreSQLLibrary, sql: String?, isBroken: Bool) {
    let functions = libpq.functions
    func field(_ field: lockstep_error_field) -> String? {
      functions.resultErrorField(result, Int32(field.rawValue)).map { String(cString: $0) }
    }
    let state = field(lockstep_error_sqlstate)
    var kind = state.map(Self.kind(ofSQLState:)) ?? .other
    if isBroken, kind != .shutdown { kind = .lostConnection }
    self.init(
      kind: kind,
      message: field(lockstep_error_message)
        ?? functions.resultErrorMessage(result).map { Self.firstLine(String(cString: $0)) } ?? "unknown error",
      operation: .run(sql: sql),
      sqlState: state,
      detail: field(lockstep_error_detail),
      hint: field(lockstep_error_hint),
      constraint: field(lockstep_error_constraint)
    )
  }

  /// An error of a new connection, from libpq's text about all hosts.
  ///
  /// libpq 15 does not expose the server's response. With the verbosity `PQERRORS_VERBOSE`, its text
  /// contains the SQLSTATE, which does not depend on the server's language.
  init(connecting text: String) {
    var state: String?
    var lines: [Substring] = []
    // libpq indents the lines that continue a message. The line that begins with LOCATION names the
    // server's source code.
    for line in text.split(separator: "\n") where !line.hasPrefix("\t") && !line.hasPrefix("LOCATION:") {
      var line = line[...]
      if let (rest, found) = Self.removingSQLState(line) { (line, state) = (rest, found) }
      lines.append(line)
    }
    let message = lines.isEmpty ? "libpq gives no reason" : lines.joined(separator: "; ")
    self.init(
      kind: Self.kind(connecting: message, state),
      message: message,
      operation: .connect,
      sqlState: state
    )
  }

  /// Finds the code in a line such as `… failed: FATAL:  28P01: password authentication failed`.
  private static func removingSQLState(_ line: Substring) -> (line: Substring, state: String)? {
    var words = line.split(separator: " ", omittingEmptySubsequences: false)
    let place = words.firstIndex { word in
      word.count == 6 && word.last == ":"
        && word.dropLast().allSatisfy { $0.isASCII && ($0.isUppercase || $0.isNumber) }
        && word.contains(where: \.isNumber)
    }
    guard let place, place > 0 else { return nil }
    let state = String(words.remove(at: place).dropLast())
    return (words.joined(separator: " ")[...], state)
  }

  private static func kind(connecting message: String, _ state: String?) -> Kind {
    if let state {
      let kind = Self.kind(ofSQLState: state)
      // 28000 is also the code of a refusal by pg_hba.conf.
      if kind == .authentication, message.contains("role \""), message.contains("\" does not exist") {
        return .noSuchRole
      }
      return kind == .other || kind == .lostConnection ? .cannotConnect : kind
    }
    // These texts are libpq's own. It translates them only in processes that call `setlocale`.
    if message.contains("no password supplied") { return .authentication }
    if ["certificate verify failed", "does not match host name", "root certificate file", "does not support SSL"]
      .contains(where: { message.contains($0) })
    {
      return .encryption
    }
    if message.contains("session is read-only") || message.contains("server is in hot standby mode") {
      return .readOnly
    }
    return .cannotConnect
  }

  /// For example `5 seconds` or `0.2 seconds`.
  static func text(of duration: Duration) -> String {
    let seconds = duration / .seconds(1)
    let number = seconds == seconds.rounded() ? String(Int(seconds)) : String(seconds)
    return "\(number) second\(seconds == 1 ? "" : "s")"
  }

  static func firstLine(_ text: String) -> String {
    let line = text.split(separator: "\n", maxSplits: 1).first ?? text[...]
    return line.count > 1_000 ? line.prefix(1_000) + "…" : String(line)
  }
}
