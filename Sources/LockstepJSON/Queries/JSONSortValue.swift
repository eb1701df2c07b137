/// A value in a JSON text, as far as most comparisons in an order need it.
///
/// The order is false, true, numbers by value, strings by UTF-8, and then anything else.
package struct JSONSortValue {
  package enum Kind: UInt8, Sendable {
    case bool
    case number
    case string
    case other
  }

  package let kind: Kind
  /// The beginning of the value. Of two values of a kind, one with a lower beginning comes first.
  package let start: UInt64
  /// Whether another value of the kind that is complete too and has the same beginning is equal.
  package let isComplete: Bool

  /// Reads the value at a place of a text. An empty place means that there is no value. Appends a
  /// string to `rest`, in UTF-8, and a number that is not complete, as JSON.
  package init(_ text: UnsafeBufferPointer<UInt8>, at place: Range<Int>, rest: inout [UInt8]) {
    let slice = UnsafeBufferPointer(rebasing: text[place])
    let text = JSONText(slice)
    switch text.kind {
    case .false: self.init(.bool, 0, isComplete: true)
    case .true: self.init(.bool, 1, isComplete: true)
    case .number:
      guard let number = text.number?.doubleValue else { fallthrough }
      // Larger integers can differ and be the same double.
      self.init(.number, Self.ordered(number), isComplete: number.magnitude < 0x1p53)
      if !isComplete { rest.append(contentsOf: slice) }
    case .string:
      let value = text.withString { text in
        rest.append(contentsOf: text)
        return Self(string: text)
      }
      guard let value else { fallthrough }
      self = value
    default: self.init(.other, 0, isComplete: true)
    }
  }

  private init(_ kind: Kind, _ start: UInt64, isComplete: Bool) {
    self.kind = kind
    self.start = start
    self.isComplete = isComplete
  }

  private init(string: UnsafeBufferPointer<UInt8>) {
    var start: UInt64 = 0
    for place in 0..<8 { start = start << 8 | (place < string.count ? UInt64(string[place]) : 0) }
    // Zeros follow a shorter text, so a text with a zero at its end is not complete.
    self.init(.string, start, isComplete: string.count <= 8 && string.last != 0)
  }

  /// Bits with the same order as the numbers. 0.0 and -0.0 have the same.
  private static func ordered(_ number: Double) -> UInt64 {
    let bits = (number + 0).bitPattern
    return bits >> 63 == 0 ? bits | 1 << 63 : ~bits
  }

  /// The order of two values of a kind that are not both complete, by the texts that `init` has
  /// appended.
  package static func order(
    _ one: UnsafeBufferPointer<UInt8>,
    _ other: UnsafeBufferPointer<UInt8>,
    _ kind: Kind
  ) -> Int {
    guard kind == .number else { return one.byteOrder(to: other) }
    guard let one = JSONText(one).number, let other = JSONText(other).number else { return 0 }
    return one.numericOrder(to: other) ?? 0
  }
}
