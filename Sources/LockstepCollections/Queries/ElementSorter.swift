import LockstepJSON

/// Sorts elements by some of their values, in the order of `JSONSortValue`.
///
/// A key can reverse the order, except that values without an order stay last. Elements with equal
/// values keep their order.
struct ElementSorter {
  /// One path of an order.
  struct Key: Sendable {
    /// The index of the path in the query.
    let path: Int
    let isDescending: Bool
  }

  /// A value of an element.
  private struct Value {
    let kind: JSONSortValue.Kind
    /// The kind, in the direction of its key. Compared first.
    let rank: UInt8
    let isComplete: Bool
    /// The beginning of the value, in the direction of its key. Compared second.
    let start: UInt64
    /// Where the value is in `texts`, if it is a string or not complete.
    let range: Range<Int>
  }

  private let keys: [Key]
  private var values: [Value] = []
  private var texts: [UInt8] = []

  init(_ keys: [Key]) {
    self.keys = keys
  }

  /// Adds the next element, whose values are at these places.
  mutating func add(_ element: UnsafeBufferPointer<UInt8>, _ places: UnsafeMutableBufferPointer<Range<Int>>) {
    for key in keys {
      let start = texts.count
      let value = JSONSortValue(element, at: places[key.path], rest: &texts)
      let isReversed = key.isDescending && value.kind != .other
      values.append(
        Value(
          kind: value.kind,
          rank: isReversed ? JSONSortValue.Kind.string.rawValue - value.kind.rawValue : value.kind.rawValue,
          isComplete: value.isComplete,
          start: isReversed ? ~value.start : value.start,
          range: start..<texts.count
        )
      )
    }
  }

  /// The added elements in the order of the keys.
  func sorted(_ items: [ListItem]) -> [ListItem] {
    var places = Array(0..<Int32(items.count))
    // Buffers, because references to the arrays would be counted for each comparison.
    values.withUnsafeBufferPointer { values in
      keys.withUnsafeBufferPointer { keys in
        texts.withUnsafeBufferPointer { texts in
          places.sort { left, right in
            for key in 0..<keys.count {
              let one = values[Int(left) &* keys.count &+ key]
              let other = values[Int(right) &* keys.count &+ key]
              if one.rank != other.rank { return one.rank < other.rank }
              if one.start != other.start { return one.start < other.start }
              let order = Self.order(one, other, texts)
              if order != 0 { return (order < 0) != keys[key].isDescending }
            }
            return left < right
          }
        }
      }
    }
    return places.map { items[Int($0)] }
  }

  /// The order of two values of the same kind and with the same beginning.
  private static func order(_ one: Value, _ other: Value, _ texts: UnsafeBufferPointer<UInt8>) -> Int {
    if one.isComplete, other.isComplete { return 0 }
    return JSONSortValue.order(text(of: one, texts), text(of: other, texts), one.kind)
  }

  private static func text(of value: Value, _ texts: UnsafeBufferPointer<UInt8>) -> UnsafeBufferPointer<UInt8> {
    UnsafeBufferPointer(rebasing: texts[value.range])
  }
}
