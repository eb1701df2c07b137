/// What a check of a store has found.
public struct CheckReport: Sendable, Equatable {
  /// What was looked at.
  public enum Area: String, Sendable, CaseIterable {
    /// The file, as SQLite knows it: pages, indexes, columns.
    case file
    /// The tables, indexes and whatever else the file consists of.
    case schema
    /// Rows that refer to others.
    case references = "foreign keys"
    /// Which store it is, and the key of its tokens.
    case identity
    /// Texts that have to be JSON.
    case texts
    /// What each user's tables hold, beside what their journal rebuilds.
    case users
    /// How much users have. More than is allowed is no damage: quotas may have been lowered.
    case quotas
  }

  /// Something that isn't as it should be.
  public struct Finding: Sendable, Equatable {
    /// Where.
    public let area: Area
    /// What, in a sentence.
    public let what: String
  }

  /// The store's file.
  public let store: String
  /// Its schema.
  public let schema: Int
  /// The last that this program knows. Of a store with an earlier one only the file, its schema and its references are looked at.
  public let knownSchema: Int
  /// Its identity, where it has one.
  public internal(set) var identity: String?
  /// How many pages the file has.
  public internal(set) var pages = 0
  /// How many bytes each has.
  public internal(set) var pageSize = 0
  /// How many users there are.
  public internal(set) var users = 0
  /// What was found, at most a hundred of each area.
  public private(set) var findings: [Finding] = []
  /// How many findings there are of each area, listed or not.
  public private(set) var counts: [Area: Int] = [:]

  init(store: String, schema: Int, knownSchema: Int) {
    self.store = store
    self.schema = schema
    self.knownSchema = knownSchema
  }

  /// Whether something is damaged.
  public var isDamaged: Bool { counts.contains { $0.key != .quotas && $0.value > 0 } }

  /// Whether all was looked at.
  public var isWhole: Bool { schema == knownSchema }

  mutating func add(_ area: Area, _ what: String) {
    counts[area, default: 0] += 1
    if counts[area, default: 0] <= StoreCheck.listed { findings.append(Finding(area: area, what: what)) }
  }
}
