/// A comparison of a value in a JSON text with a given value.
// A class, because a struct with these members would be copied for each text.
package final class JSONCondition: Sendable {
  /// Its raw value is its name.
  package enum Operator: String, CaseIterable, Sendable {
    case eq
    case ne
    case lt
    case le
    case gt
    case ge
    case `in`
    case has
    case prefix
  }

  private let operation: Operator
  private let value: ComparedValue
  /// The values for `in`.
  private let values: ComparedValues
  /// The text for `has` and `prefix`.
  private let text: SearchedText

  /// A comparison with a value, which is JSON if it can be parsed, otherwise text. Nil if it is no
  /// array and the operator is `in`.
  package init?(_ operation: Operator, _ written: String) {
    let json = (try? JSON(parsing: written)) ?? .string(written)
    guard operation != .in || json.arrayValue != nil else { return nil }
    self.operation = operation
    value = ComparedValue(json)
    values = ComparedValues(operation == .in ? json.arrayValue ?? [] : [])
    // Text is searched for text. So a value that is no JSON string counts as it is written.
    let searched = operation == .has || operation == .prefix ? json.stringValue ?? written : ""
    text = SearchedText(Array(searched.utf8))
  }

  /// Whether the condition holds for the value at a place of a text. An empty place means that there is
  /// no value.
  package func holds(for text: UnsafeBufferPointer<UInt8>, at place: Range<Int>) -> Bool {
    guard !place.isEmpty else { return operation == .ne }
    let other = JSONText(UnsafeBufferPointer(rebasing: text[place]))
    switch operation {
    case .eq: return value.equals(other)
    case .ne: return !value.equals(other)
    case .lt, .le, .gt, .ge:
      guard let order = value.order(of: other) else { return false }
      return order == 0 ? operation == .le || operation == .ge : (order < 0) == (operation == .lt || operation == .le)
    case .in: return values.contain(other)
    case .has:
      switch other.kind {
      case .array: return other.contains { value.equals($0) }
      case .string: return other.withString { self.text.occurs(in: $0) } ?? false
      default: return false
      }
    case .prefix: return other.withString { self.text.begins($0) } ?? false
    }
  }
}

/// A value, prepared for comparisons with values in JSON texts.
private struct ComparedValue: Sendable {
  private let json: JSON
  private let kind: JSONText.Kind
  /// The value of a small integer.
  private let integer: Int64?
  /// The UTF-8 of a string.
  private let text: [UInt8]
  /// No longer text can have an equal value.
  private let longestEqual: Int

  init(_ json: JSON) {
    self.json = json
    kind = json.kind
    integer = if case .integer(let value) = json { value } else { nil }
    text = Array((json.stringValue ?? "").utf8)
    // A byte takes up to 6 bytes as an escape, and `0` can be `-0.0`.
    longestEqual = 8 * json.encodedByteCount
  }

  /// Whether the values are equal as JSON: 1 equals 1.0.
  func equals(_ other: JSONText) -> Bool {
    guard kind == other.kind else { return false }
    return switch kind {
    case .null, .false, .true: true
    case .number, .string: order(of: other) == 0
    case .array, .object: other.count <= longestEqual && other.value == json
    }
  }

  /// Negative if the other value comes before this one, 0 if they are equal. Nil unless both are
  /// numbers or both are strings.
  func order(of other: JSONText) -> Int? {
    guard kind == other.kind else { return nil }
    switch kind {
    case .string: return other.withString { other in text.withUnsafeBufferPointer { other.byteOrder(to: $0) } }
    case .number:
      if let integer, let other = other.smallInteger { return other < integer ? -1 : other == integer ? 0 : 1 }
      return other.number?.numericOrder(to: json)
    default: return nil
    }
  }
}

extension JSON {
  fileprivate var kind: JSONText.Kind {
    switch self {
    case .null: .null
    case .bool(let value): value ? .true : .false
    case .integer, .unsigned, .double: .number
    case .string: .string
    case .array: .array
    case .object: .object
    }
  }
}

/// The values after the operator `in`.
private struct ComparedValues: Sendable {
  private static let longestSearch = 8

  /// Few values are compared one by one.
  private let few: [ComparedValue]
  private let many: Set<JSON>
  private let longestEqual: Int

  init(_ values: [JSON]) {
    let isFew = values.count <= Self.longestSearch
    few = isFew ? values.map { ComparedValue($0) } : []
    many = isFew ? [] : Set(values)
    longestEqual = 8 * (values.map(\.encodedByteCount).max() ?? 0)
  }

  func contain(_ value: JSONText) -> Bool {
    if many.isEmpty { return few.contains { $0.equals(value) } }
    return value.count <= longestEqual && value.value.map { many.contains($0) } ?? false
  }
}

/// A text that is searched for in other texts, in time in proportion to their length (Knuth, Morris
/// and Pratt).
private struct SearchedText: Sendable {
  private let text: [UInt8]
  /// For each position, the length of the longest beginning of the text that ends there.
  private let borders: [Int]

  init(_ text: [UInt8]) {
    self.text = text
    var (borders, length) = (Array(repeating: 0, count: text.count), 0)
    for place in text.indices.dropFirst() {
      while length > 0, text[place] != text[length] { length = borders[length - 1] }
      if text[place] == text[length] { length += 1 }
      borders[place] = length
    }
    self.borders = borders
  }

  func begins(_ other: UnsafeBufferPointer<UInt8>) -> Bool {
    guard other.count >= text.count else { return false }
    for place in text.indices where text[place] != other[place] { return false }
    return true
  }

  func occurs(in other: UnsafeBufferPointer<UInt8>) -> Bool {
    if text.isEmpty { return true }
    var length = 0
    for byte in other {
      while length > 0, byte != text[length] { length = borders[length - 1] }
      if byte == text[length] { length += 1 }
      if length == text.count { return true }
    }
    return false
  }
}
