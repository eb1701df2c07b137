/// A stored value, of one of SQLite's five types.
public enum SQLiteValue: Sendable, Equatable {
  /// NULL.
  case null
  /// A signed integer of 64 bits.
  case integer(Int64)
  /// A floating-point number. SQLite stores NaN as NULL, and keeps infinities.
  case real(Double)
  /// UTF-8 text, which may contain NUL characters.
  case text(String)
  /// Bytes. An empty blob is not NULL.
  case blob([UInt8])

  /// The type's name in SQLite's `typeof`.
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

// The conversions are inlinable, because a generic conversion looks up metadata for each value.

/// A type whose values can be bound to a statement and read from a column.
///
/// Values are never converted: a column of another type is an error. In `STRICT` tables, the error
/// can only come from a mistake in the SQL or from another program that wrote to the file.
///
/// A type of your own converts itself to and from one of SQLite's types:
///
///     extension UserID: SQLiteConvertible {
///       var sqliteValue: SQLiteValue { .text(text) }
///       init?(sqliteValue: SQLiteValue) {
///         guard case .text(let text) = sqliteValue else { return nil }
///         self.init(text)
///       }
///     }
public protocol SQLiteConvertible {
  /// The stored value.
  var sqliteValue: SQLiteValue { get }

  /// Reads a stored value. Nil if it does not represent a value of this type.
  init?(sqliteValue: SQLiteValue)
}

extension SQLiteValue: SQLiteConvertible {
  /// The value itself.
  @inlinable public var sqliteValue: SQLiteValue { self }

  /// The value itself.
  @inlinable public init?(sqliteValue: SQLiteValue) { self = sqliteValue }
}

extension Int64: SQLiteConvertible {
  /// An integer.
  @inlinable public var sqliteValue: SQLiteValue { .integer(self) }

  /// Reads integers only.
  @inlinable public init?(sqliteValue: SQLiteValue) {
    guard case .integer(let value) = sqliteValue else { return nil }
    self = value
  }
}

extension Int: SQLiteConvertible {
  /// An integer.
  @inlinable public var sqliteValue: SQLiteValue { .integer(Int64(self)) }

  /// Reads integers only.
  @inlinable public init?(sqliteValue: SQLiteValue) {
    guard case .integer(let value) = sqliteValue else { return nil }
    self.init(exactly: value)
  }
}

extension Bool: SQLiteConvertible {
  /// The integer 1 or 0.
  @inlinable public var sqliteValue: SQLiteValue { .integer(self ? 1 : 0) }

  /// Reads the integers 1 and 0 only.
  @inlinable public init?(sqliteValue: SQLiteValue) {
    switch sqliteValue {
    case .integer(0): self = false
    case .integer(1): self = true
    default: return nil
    }
  }
}

extension Double: SQLiteConvertible {
  /// A floating-point number. NaN is stored as NULL, so read a column that may contain NaN as
  /// `Double?`.
  @inlinable public var sqliteValue: SQLiteValue { .real(self) }

  /// Reads floating-point numbers only.
  @inlinable public init?(sqliteValue: SQLiteValue) {
    guard case .real(let value) = sqliteValue else { return nil }
    self = value
  }
}

extension String: SQLiteConvertible {
  /// Text.
  @inlinable public var sqliteValue: SQLiteValue { .text(self) }

  /// Reads text only.
  @inlinable public init?(sqliteValue: SQLiteValue) {
    guard case .text(let value) = sqliteValue else { return nil }
    self = value
  }
}

extension [UInt8]: SQLiteConvertible {
  /// A blob.
  @inlinable public var sqliteValue: SQLiteValue { .blob(self) }

  /// Reads blobs only.
  @inlinable public init?(sqliteValue: SQLiteValue) {
    guard case .blob(let value) = sqliteValue else { return nil }
    self = value
  }
}

extension Optional: SQLiteConvertible where Wrapped: SQLiteConvertible {
  /// `NULL` for `nil`.
  @inlinable public var sqliteValue: SQLiteValue { self?.sqliteValue ?? .null }

  /// Reads `NULL`, and the values of the wrapped type.
  @inlinable public init?(sqliteValue: SQLiteValue) {
    if case .null = sqliteValue {
      self = .none
    } else if let wrapped = Wrapped(sqliteValue: sqliteValue) {
      self = wrapped
    } else {
      return nil
    }
  }
}
