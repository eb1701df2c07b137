import CLockstepPostgreSQL

/// How statements are sent and results read.
///
/// A statement is prepared on its first use. Behind a pooler, none is: the next transaction may have another
/// connection to the server, which does not know it.
extension PostgreSQLConnection {
  /// One message to the server that gets results of its own.
  private enum Step {
    case prepare(index: Int, name: String)
    case run(index: Int)

    var index: Int {
      switch self {
      case .prepare(let index, _), .run(let index): index
      }
    }
  }

  /// Sends all statements, and reads the results. If `prepares` is true, prepares those that are not
  /// prepared yet. Everything is in libpq's buffer before the first wait; `nextResult` then writes and
  /// reads by turns, so a full buffer of the socket never stops both sides.
  func exchange(
    _ statements: [PostgreSQLStatement],
    _ parameters: [Parameters],
    prepares: Bool
  ) throws(PostgreSQLError) -> [PostgreSQLResult] {
    let connection = try open(.run(sql: statements[0].sql))
    guard libpq.functions.enterPipelineMode(connection) == 1 else { throw lost(.run(sql: statements[0].sql)) }
    let steps = try queue(statements, parameters, connection, prepares: prepares)

    var results: [PostgreSQLResult] = []
    results.reserveCapacity(statements.count)
    var failure: PostgreSQLError?
    for step in steps {
      let statement = statements[step.index]
      // Each step has one result, and then a null pointer that ends it.
      while let result = try nextResult(.run(sql: statement.sql)) {
        switch libpq.functions.resultStatus(result) {
        case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_EMPTY_QUERY:
          switch step {
          case .prepare(_, let name):
            libpq.functions.clear(result)
            prepared[statement.number] = name
          case .run: results.append(PostgreSQLResult(result, libpq, statement))
          }
        case PGRES_PIPELINE_ABORTED: libpq.functions.clear(result)
        case let status:
          failure = failure ?? self.failure(result, status, statement, step.index)
          let isFatal = endsConnection(result, status)
          libpq.functions.clear(result)
          if isFatal { throw closed(by: failure) }
        }
      }
    }
    failure = try readSync(failure, statements.count - 1, statements.last?.sql)
    guard libpq.functions.exitPipelineMode(connection) == 1 else { throw lost(.run(sql: statements.last?.sql)) }
    if let failure { throw failure }
    return results
  }

  /// Puts all messages into libpq's buffer.
  private func queue(
    _ statements: [PostgreSQLStatement],
    _ parameters: [Parameters],
    _ connection: OpaquePointer,
    prepares: Bool
  ) throws(PostgreSQLError) -> [Step] {
    var steps: [Step] = []
    steps.reserveCapacity(statements.count + 1)
    // Names that this pipeline prepares. They count as prepared when the server has confirmed them.
    var names: [Int: String] = [:]
    for (index, statement) in statements.enumerated() {
      let parameters = parameters[index]
      var isQueued = true
      var name: String?
      if prepares {
        name = prepared[statement.number] ?? names[statement.number]
        if name == nil {
          lastPreparedName += 1
          let new = "\(namePrefix)\(lastPreparedName)"
          (name, names[statement.number]) = (new, new)
          let (count, types) = (Int32(parameters.count), parameters.types)
          isQueued = libpq.functions.sendPrepare(connection, new, statement.sql, count, types) == 1
          steps.append(.prepare(index: index, name: new))
        }
      }
      guard isQueued, queueRun(of: statement, named: name, parameters, connection) else {
        throw lost(.run(sql: statement.sql))
      }
      steps.append(.run(index: index))
    }
    guard libpq.functions.pipelineSync(connection) == 1 else { throw lost(.run(sql: statements.last?.sql)) }
    return steps
  }

  /// Puts a run of a prepared statement into libpq's buffer, or of its text if it has no name. Requests results
  /// in binary format.
  private func queueRun(
    of statement: PostgreSQLStatement,
    named name: String?,
    _ parameters: Parameters,
    _ connection: OpaquePointer
  ) -> Bool {
    let (count, isBinary) = (Int32(parameters.count), Int32(1))
    return parameters.withPointers { values, lengths, formats in
      if let name {
        return libpq.functions.sendQueryPrepared(connection, name, count, values, lengths, formats, isBinary)
      }
      let types = parameters.types
      return libpq.functions
        .sendQueryParams(connection, statement.sql, count, types, values, lengths, formats, isBinary)
    } == 1
  }

  /// Runs a script by PostgreSQL's simple protocol.
  func execute(_ script: String, _ operation: PostgreSQLError.Operation) throws(PostgreSQLError) {
    guard !script.utf8.contains(0) else {
      throw PostgreSQLError(kind: .mismatch, message: "it contains the character U+0000", operation: operation)
    }
    let connection = try open(operation)
    guard libpq.functions.sendQuery(connection, script) == 1 else { throw lost(operation) }
    var failure: PostgreSQLError?
    while let result = try nextResult(operation) {
      let status = libpq.functions.resultStatus(result)
      if status != PGRES_COMMAND_OK, status != PGRES_TUPLES_OK, status != PGRES_EMPTY_QUERY {
        failure = failure ?? self.failure(result, status, PostgreSQLStatement(script), nil)
      }
      let isFatal = endsConnection(result, status)
      libpq.functions.clear(result)
      if isFatal { throw closed(by: failure) }
    }
    if let failure { throw failure }
  }

  /// Writes and reads until there is a result that the caller must clear, or a null pointer that
  /// ends a step.
  private func nextResult(_ operation: PostgreSQLError.Operation) throws(PostgreSQLError) -> OpaquePointer? {
    guard let connection = pointer else { throw lost(operation) }
    while true {
      // libpq keeps a failure to write, and reports it after what the server sent before.
      let isUnsent = libpq.functions.flush(connection) == 1
      if libpq.functions.isBusy(connection) == 0 { return libpq.functions.getResult(connection) }
      if !isBroken { try wait(alsoToWrite: isUnsent, operation) }
      if isBroken || libpq.functions.consumeInput(connection) == 0 {
        // The connection ended. libpq first returns what the server sent, and then the reason.
        guard let result = libpq.functions.getResult(connection) else { throw lost(operation) }
        return result
      }
    }
  }

  /// Reads the result that marks the end of a pipeline. PostgreSQL commits at this point. If the
  /// commit fails, for example because of a deferred constraint, its error comes before that result.
  private func readSync(
    _ earlierFailure: PostgreSQLError?,
    _ index: Int,
    _ sql: String?
  ) throws(PostgreSQLError) -> PostgreSQLError? {
    var failure = earlierFailure
    while true {
      guard let result = try nextResult(.run(sql: sql)) else {
        if isBroken { throw closed(by: failure) }
        continue
      }
      let status = libpq.functions.resultStatus(result)
      if status == PGRES_FATAL_ERROR, failure == nil {
        failure = PostgreSQLError(result, libpq, sql: sql, isBroken: isBroken)
        failure?.statementIndex = index
      }
      let isFatal = status != PGRES_PIPELINE_SYNC && endsConnection(result, status)
      libpq.functions.clear(result)
      if status == PGRES_PIPELINE_SYNC { return failure }
      if isFatal { throw closed(by: failure) }
    }
  }

  /// Whether the connection cannot be used after this result.
  private func endsConnection(_ result: OpaquePointer, _ status: ExecStatusType) -> Bool {
    if isBroken || isCopy(status) { return true }
    // The server closes the connection after a fatal error, but that may arrive later.
    // PgBouncer has only the severity that a server may translate.
    let severity = [lockstep_error_severity, lockstep_error_translated_severity].lazy
      .compactMap { self.libpq.functions.resultErrorField(result, Int32($0.rawValue)) }.first
    return severity.map { ["FATAL", "PANIC"].contains(String(cString: $0)) } ?? false
  }

  private func isCopy(_ status: ExecStatusType) -> Bool {
    status == PGRES_COPY_IN || status == PGRES_COPY_OUT || status == PGRES_COPY_BOTH
  }

  private func failure(
    _ result: OpaquePointer,
    _ status: ExecStatusType,
    _ statement: PostgreSQLStatement,
    _ index: Int?
  ) -> PostgreSQLError {
    if isCopy(status) {
      return PostgreSQLError(
        kind: .other,
        message: "COPY from or to the client is not supported",
        operation: .run(sql: statement.sql),
        statementIndex: index
      )
    }
    var error = PostgreSQLError(result, libpq, sql: statement.sql, isBroken: isBroken)
    error.statementIndex = index
    // The server does not know the prepared statement, or the table's columns changed. It is
    // prepared again under another name.
    if error.sqlState == "26000" || error.sqlState == "0A000" { prepared[statement.number] = nil }
    return error
  }

  /// Closes the connection after an error that ended it.
  private func closed(by failure: PostgreSQLError?) -> PostgreSQLError {
    close()
    return failure
      ?? PostgreSQLError(kind: .lostConnection, message: "the connection was lost", operation: .run(sql: nil))
  }
}
