/// One of the five kinds of value that SQLite stores.
public enum SQLiteValue: Sendable, Equatable {
  /// Nothing.
  case null
  /// A whole number of 64 bits, with its sign.
  case integer(Int64)
  /// A floating-point number. SQLite has no NaN: one that is bound is stored as NULL. Infinities are kept.
  case real(Double)
  /// Text of any UTF-8, NUL characters included.
  case text(String)
  /// Bytes, as they are. An empty blob is not NULL.
  case blob([UInt8])

  /// The kind's name as SQLite's `typeof` gives it.
  var kindName: String {
    switch self {
    case .null: "null"
    case .integer: "integer"
    case .real: "real"
    case .text: "text"
    case .blob: "blob"
    }
  }
}

/// A type whose values can be bound to a statement and read from a column.
///
/// Nothing is converted on the way: a column that holds another kind than the type expects is an error, never a guess,
/// because in `STRICT` tables it can only be a mistake in the SQL or a file that somebody else has written to.
///
/// A type of your own joins in by passing through one of those below:
///
///     extension UserID: SQLiteConvertible {
///       var sqliteValue: SQLiteValue { .text(text) }
///       init?(sqliteValue: SQLiteValue) {
///         guard case .text(let text) = sqliteValue else { return nil }
///         self.init(text)
///       }
///     }
public protocol SQLiteConvertible {
  /// What is stored for this value.
  var sqliteValue: SQLiteValue { get }

  /// The value that was stored so, or nil when it can't have been stored by this type.
  init?(sqliteValue: SQLiteValue)
}

extension SQLiteValue: SQLiteConvertible {
  /// The value itself.
  public var sqliteValue: SQLiteValue { self }

  /// The value itself.
  public init?(sqliteValue: SQLiteValue) { self = sqliteValue }
}

extension Int64: SQLiteConvertible {
  /// An integer.
  public var sqliteValue: SQLiteValue { .integer(self) }

  /// Takes integers only.
  public init?(sqliteValue: SQLiteValue) {
    guard case .integer(let value) = sqliteValue else { return nil }
    self = value
  }
}

extension Int: SQLiteConvertible {
  /// An integer.
  public var sqliteValue: SQLiteValue { .integer(Int64(self)) }

  /// Takes integers only.
  public init?(sqliteValue: SQLiteValue) {
    guard case .integer(let value) = sqliteValue else { return nil }
    self.init(exactly: value)
  }
}

extension Bool: SQLiteConvertible {
  /// The integer 1 or 0.
  public var sqliteValue: SQLiteValue { .integer(self ? 1 : 0) }

  /// Takes the integers 1 and 0 only.
  public init?(sqliteValue: SQLiteValue) {
    switch sqliteValue {
    case .integer(0): self = false
    case .integer(1): self = true
    default: return nil
    }
  }
}

extension Double: SQLiteConvertible {
  /// A floating-point number; NaN is stored as NULL, so read a column that may hold one as `Double?`.
  public var sqliteValue: SQLiteValue { .real(self) }

  /// Takes floating-point numbers only.
  public init?(sqliteValue: SQLiteValue) {
    guard case .real(let value) = sqliteValue else { return nil }
    self = value
  }
}

extension String: SQLiteConvertible {
  /// Text.
  public var sqliteValue: SQLiteValue { .text(self) }

  /// Takes text only.
  public init?(sqliteValue: SQLiteValue) {
    guard case .text(let value) = sqliteValue else { return nil }
    self = value
  }
}

extension [UInt8]: SQLiteConvertible {
  /// A blob.
  public var sqliteValue: SQLiteValue { .blob(self) }

  /// Takes blobs only.
  public init?(sqliteValue: SQLiteValue) {
    guard case .blob(let value) = sqliteValue else { return nil }
    self = value
  }
}

extension Optional: SQLiteConvertible where Wrapped: SQLiteConvertible {
  /// NULL for nil.
  public var sqliteValue: SQLiteValue { self?.sqliteValue ?? .null }

  /// Takes NULL, and what the wrapped type takes.
  public init?(sqliteValue: SQLiteValue) {
    if case .null = sqliteValue {
      self = .none
      return
    }
    guard let wrapped = Wrapped(sqliteValue: sqliteValue) else { return nil }
    self = .some(wrapped)
  }
}
