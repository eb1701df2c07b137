/// A moment. Its text is RFC 3339 in UTC with milliseconds: `2026-11-21T05:00:00.000Z`.
public struct Timestamp: Sendable, Hashable, Comparable, CustomStringConvertible {
  /// Milliseconds since 1970 in UTC, never negative.
  public let millisecondsSince1970: Int64

  /// A moment from milliseconds since 1970, clamped to the years 1970 to 9999.
  public init(millisecondsSince1970 milliseconds: Int64) {
    millisecondsSince1970 = min(max(milliseconds, 0), 253_402_300_799_999)
  }

  /// Parses the form that `description` has. Nil for any other text.
  public init?(_ text: String) {
    let bytes = Array(text.utf8)
    func number(_ place: Range<Int>) -> Int? { Int(String(decoding: bytes[place], as: UTF8.self)) }
    guard bytes.count == 24, let year = number(0..<4), let month = number(5..<7), (1...12).contains(month),
      let day = number(8..<10), let hour = number(11..<13), let minute = number(14..<16), let second = number(17..<19),
      let milliseconds = number(20..<23)
    else { return nil }
    let days = CivilDate.daysSince1970(year: year, month: month) + day - 1
    let seconds = ((days * 24 + hour) * 60 + minute) * 60 + second
    self.init(millisecondsSince1970: Int64(seconds * 1000 + milliseconds))
    // Rejects texts of other forms, and dates such as 30 February.
    if description != text { return nil }
  }

  /// In order of time.
  public static func < (left: Timestamp, right: Timestamp) -> Bool {
    left.millisecondsSince1970 < right.millisecondsSince1970
  }

  /// The RFC 3339 form.
  public var description: String {
    let (seconds, milliseconds) = Int(millisecondsSince1970).quotientAndRemainder(dividingBy: 1000)
    return "\(LocalTime(seconds).standardText).\(milliseconds.padded(to: 3))Z"
  }

  /// The moment that is `duration` earlier.
  public func earlier(by duration: Duration) -> Timestamp {
    Timestamp(millisecondsSince1970: millisecondsSince1970 - duration.wholeMilliseconds)
  }
}
