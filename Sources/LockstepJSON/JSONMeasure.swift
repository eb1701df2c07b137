extension JSON {
  /// The size of `encoded()` in bytes, computed without encoding. Works for values of any depth.
  public var encodedByteCount: Int { JSONMeasure(of: self).byteCount }

  /// The nesting depth: 0 for a number, 1 for `[]`, 2 for `[[]]`. Works for values of any depth.
  public var depth: Int { JSONMeasure(of: self).depth }
}

/// Measures a value in one pass, without recursion.
struct JSONMeasure {
  private var counter = ByteCounter()
  private(set) var depth = 0
  var byteCount: Int { counter.count }

  init(of root: JSON) {
    var pending: [(value: JSON, depth: Int)] = [(root, 0)]
    while let (value, depth) = pending.popLast() {
      switch value {
      case .array(let elements):
        enter(depth: depth, childCount: elements.count)
        for element in elements { measure(element, depth: depth + 1, &pending) }
      case .object(let object):
        enter(depth: depth, childCount: object.count)
        for member in object.members {
          counter.append(string: member.name)
          counter.count += 1
          measure(member.value, depth: depth + 1, &pending)
        }
      default: _ = counter.append(leaf: value)
      }
    }
  }

  static func byteCount(ofString string: String) -> Int {
    var counter = ByteCounter()
    counter.append(string: string)
    return counter.count
  }

  private mutating func enter(depth: Int, childCount: Int) {
    self.depth = max(self.depth, depth + 1)
    counter.count += 2 + max(0, childCount - 1)
  }

  private mutating func measure(_ value: JSON, depth: Int, _ pending: inout [(value: JSON, depth: Int)]) {
    switch value {
    case .array, .object: pending.append((value, depth))
    default: _ = counter.append(leaf: value)
    }
  }
}

private struct ByteCounter: ByteSink {
  var count = 0

  mutating func append(_ byte: UInt8) { count += 1 }

  mutating func append(bytes: UnsafeBufferPointer<UInt8>) { count += bytes.count }
}
