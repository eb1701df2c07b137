import Synchronization

/// A statement's SQL with `$1`, `$2` and so on. Each connection prepares it on first use.
///
/// Keep statements as constants: a connection never drops a prepared statement, so each new object
/// takes memory of the server. The types of the parameters follow from the SQL and from the values
/// of the first use, except for integers, reals, texts and NULL, which have no type of their own.
package final class PostgreSQLStatement: Sendable {
  package let sql: String
  /// A number that no other statement of this process has.
  let number: Int
  /// Whether this is `BEGIN`.
  let beginsTransaction: Bool

  private static let numbers = Atomic(0)

  package init(_ sql: String) {
    self.sql = sql
    beginsTransaction = sql.hasPrefix("BEGIN")
    number = Self.numbers.wrappingAdd(1, ordering: .relaxed).newValue
  }
}

/// Statements that are sent together, in one round trip.
///
/// If no transaction is open, PostgreSQL runs them as one transaction: an error rolls all of them
/// back, unless the pipeline contains `BEGIN` and `COMMIT`.
package struct PostgreSQLPipeline {
  var elements: [(statement: PostgreSQLStatement, values: [PostgreSQLValue])] = []

  package init() {}

  package var isEmpty: Bool { elements.isEmpty }
  package var count: Int { elements.count }

  /// Adds a statement.
  ///
  /// - Returns: The index of its result.
  @discardableResult
  package mutating func add(_ statement: PostgreSQLStatement, _ values: [PostgreSQLValue] = []) -> Int {
    elements.append((statement, values))
    return elements.count - 1
  }

  /// Adds the statements of another pipeline.
  package mutating func add(contentsOf other: PostgreSQLPipeline) { elements += other.elements }
}
