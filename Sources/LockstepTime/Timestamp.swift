/// A moment in RFC 3339, in UTC with milliseconds: `2026-11-21T05:00:00.000Z`.
public struct Timestamp: Sendable, Hashable, Comparable, CustomStringConvertible {
  /// Milliseconds since 1970 in UTC, never negative.
  public let millisecondsSince1970: Int64

  /// A moment from milliseconds since 1970, clamped to the years 1970 to 9999.
  public init(millisecondsSince1970 milliseconds: Int64) {
    millisecondsSince1970 = min(max(milliseconds, 0), 253_402_300_799_999)
  }

  /// Parses the form that `description` has. Nil for any other.
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
    // Rejects all other spellings, such as February 30.
    if description != text { return nil }
  }

  /// In order of time.
  public static func < (left: Timestamp, right: Timestamp) -> Bool {
    left.millisecondsSince1970 < right.millisecondsSince1970
  }

  /// The RFC 3339 form.
  public var description: String {
    let (seconds, milliseconds) = Int(millisecondsSince1970).quotientAndRemainder(dividingBy: 1000)
    let (days, second) = seconds.quotientAndRemainder(dividingBy: 86_400)
    let date = CivilDate(daysSince1970: days)
    let day = "\(Self.padded(date.year, 4))-\(Self.padded(date.month, 2))-\(Self.padded(date.day, 2))"
    let minutes = "\(Self.padded(second / 3600, 2)):\(Self.padded(second / 60 % 60, 2))"
    return "\(day)T\(minutes):\(Self.padded(second % 60, 2)).\(Self.padded(milliseconds, 3))Z"
  }

  private static func padded(_ number: Int, _ width: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
  }
}

extension Timestamp {
  /// The moment that is `duration` earlier.
  public func earlier(by duration: Duration) -> Timestamp {
    Timestamp(millisecondsSince1970: millisecondsSince1970 - duration.wholeMilliseconds)
  }
}
