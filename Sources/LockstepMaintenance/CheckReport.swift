package struct CheckReport: Sendable, Equatable {
  package enum Area: String, Sendable, CaseIterable {
    case file
    case schema
    case references = "foreign keys"
    /// The store's identity and the key of its tokens.
    case identity
    case texts
    /// Each user's tables, compared with the journal.
    case users
    /// Users above their quotas. This is not damage, because quotas may have been lowered.
    case quotas
  }

  package struct Finding: Sendable, Equatable {
    package let area: Area
    package let what: String
  }

  package let store: String
  package let schema: Int
  /// The newest schema that this program knows. In a store with an older schema, only the first
  /// three areas are checked.
  package let knownSchema: Int
  package internal(set) var identity: String?
  /// Whether the store is in PostgreSQL.
  package let isDatabase: Bool
  /// The size of a database in PostgreSQL.
  package internal(set) var bytes = 0
  /// False if the role may not create the temporary tables with which the schema is compared.
  package internal(set) var isSchemaCompared = true
  package internal(set) var pages = 0
  package internal(set) var pageSize = 0
  package internal(set) var users = 0
  /// At most `StoreCheck.listed` of each area.
  package private(set) var findings: [Finding] = []
  /// How many findings each area has, listed or not.
  package private(set) var counts: [Area: Int] = [:]

  init(store: String, schema: Int, knownSchema: Int) {
    self.store = store
    self.schema = schema
    self.knownSchema = knownSchema
    isDatabase = false
  }

  init(database name: String, schema: Int, knownSchema: Int) {
    store = name
    self.schema = schema
    self.knownSchema = knownSchema
    isDatabase = true
  }

  package var isDamaged: Bool { counts.contains { $0.key != .quotas && $0.value > 0 } }

  package var isWhole: Bool { schema == knownSchema }

  mutating func add(_ area: Area, _ what: String) {
    counts[area, default: 0] += 1
    if counts[area, default: 0] <= StoreCheck.listed { findings.append(Finding(area: area, what: what)) }
  }
}
