extension JSON {
  /// Orders two numbers by their exact values: 9007199254740993 is greater than the double
  /// 9007199254740992. Negative if this number is less, 0 if both are equal. Nil if one of the values
  /// is no number.
  package func numericOrder(to other: JSON) -> Int? {
    switch (self, other) {
    case (.integer(let left), .integer(let right)): Self.order(left, right)
    case (.double(let left), .double(let right)): left.isNaN || right.isNaN ? nil : Self.order(left, right)
    case (.double(let left), _): other.wideInteger.flatMap { Self.order($0, left) }.map { -$0 }
    case (_, .double(let right)): wideInteger.flatMap { Self.order($0, right) }
    default: wideInteger.flatMap { left in other.wideInteger.map { Self.order(left, $0) } }
    }
  }

  private var wideInteger: Int128? {
    switch self {
    case .integer(let value): Int128(value)
    case .unsigned(let value): Int128(value)
    default: nil
    }
  }

  private static func order<Number: Comparable>(_ left: Number, _ right: Number) -> Int {
    left < right ? -1 : left == right ? 0 : 1
  }

  private static func order(_ integer: Int128, _ double: Double) -> Int? {
    // All 64-bit integers are between these bounds. Inside them, the conversion is defined and drops
    // the fraction.
    if double.isNaN { return nil }
    if double >= 0x1p64 { return -1 }
    if double < -0x1p63 { return 1 }
    let whole = Int128(double)
    return integer == whole ? order(Double(whole), double) : order(integer, whole)
  }
}

extension UnsafeBufferPointer<UInt8> {
  /// Negative if these bytes come before the others; 0 if they are equal.
  package func byteOrder(to other: UnsafeBufferPointer<UInt8>) -> Int {
    guard let left = baseAddress, let right = other.baseAddress else { return count.signum() - other.count.signum() }
    let common = Swift.min(count, other.count)
    var place = 0
    while place &+ 8 <= common {
      // Eight bytes are left at `place` in both, by the loop's condition.
      let (leftWord, rightWord) = (loadWord(left + place).byteSwapped, loadWord(right + place).byteSwapped)
      if leftWord != rightWord { return leftWord < rightWord ? -1 : 1 }
      place &+= 8
    }
    while place < common {
      if left[place] != right[place] { return left[place] < right[place] ? -1 : 1 }
      place &+= 1
    }
    return (count - other.count).signum()
  }
}
