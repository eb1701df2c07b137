extension JSON {
  /// How many bytes `encoded()` has, without making them: for quotas. Works for values of any depth.
  public var encodedByteCount: Int {
    JSONMeasure(of: self).byteCount
  }

  /// How many arrays and objects stand inside each other: 0 for a number, 1 for `[]`, 2 for `[[]]`.
  /// Works for values of any depth.
  public var depth: Int {
    JSONMeasure(of: self).depth
  }
}

/// The size of a value as compact text, and its depth, found in one pass without recursion.
struct JSONMeasure {
  private(set) var byteCount = 0
  private(set) var depth = 0

  init(of root: JSON) {
    var pending: [(value: JSON, depth: Int)] = [(root, 0)]
    while let (value, depth) = pending.popLast() {
      switch value {
      case .array(let elements):
        enter(depth: depth, childCount: elements.count)
        for element in elements { addLeaf(element, orDefer: &pending, depth: depth + 1) }
      case .object(let object):
        enter(depth: depth, childCount: object.count)
        for member in object.members {
          byteCount += Self.byteCount(ofString: member.name) + 1
          addLeaf(member.value, orDefer: &pending, depth: depth + 1)
        }
      default: byteCount += Self.byteCount(ofLeaf: value)
      }
    }
  }

  /// Counts the brackets and the commas of a container.
  private mutating func enter(depth: Int, childCount: Int) {
    self.depth = max(self.depth, depth + 1)
    byteCount += 2 + max(0, childCount - 1)
  }

  private mutating func addLeaf(_ value: JSON, orDefer pending: inout [(value: JSON, depth: Int)], depth: Int) {
    switch value {
    case .array, .object: pending.append((value, depth))
    default: byteCount += Self.byteCount(ofLeaf: value)
    }
  }

  private static func byteCount(ofLeaf value: JSON) -> Int {
    var counter = ByteCounter()
    switch value {
    case .string(let string): counter.append(string: string)
    case .integer(let integer): counter.append(integer: integer)
    case .unsigned(let unsigned): counter.append(unsigned: unsigned)
    case .double(let double): counter.append(double: double)
    case .bool(let bool): counter.count = bool ? 4 : 5
    case .null, .array, .object: counter.count = 4
    }
    return counter.count
  }

  /// The size of a string with its quotation marks and escapes.
  static func byteCount(ofString string: String) -> Int {
    var counter = ByteCounter()
    counter.append(string: string)
    return counter.count
  }
}

/// Counts what is written to it and keeps nothing.
private struct ByteCounter: ByteSink {
  var count = 0

  mutating func append(_ byte: UInt8) {
    count += 1
  }

  mutating func append(bytes: UnsafeBufferPointer<UInt8>) {
    count += bytes.count
  }
}
