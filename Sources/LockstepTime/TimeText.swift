/// Times in RFC 3339, in the years 0 to 9999.
///
/// A `Timestamp` is from 1970 on, but a birthday, for example, may be earlier.
package enum TimeText {
  /// From the start of the year 0 to the end of the year 9999.
  private static let range: ClosedRange<Int64> = -62_167_219_200_000...253_402_300_799_999

  /// The milliseconds since 1970 of a time. Nil if the text is not a time. Fractions of a millisecond are cut off.
  package static func milliseconds(_ text: String) -> Int64? {
    var reader = TimeReader(text)
    return reader.millisecondsSince1970()
  }

  /// The time in UTC with milliseconds, such as `2026-11-21T05:00:00.000Z`. Nil outside of the years 0 to 9999.
  package static func text(_ millisecondsSince1970: Int64) -> String? {
    guard range.contains(millisecondsSince1970) else { return nil }
    let milliseconds = (millisecondsSince1970 % 1_000 + 1_000) % 1_000
    let time = LocalTime(Int((millisecondsSince1970 - milliseconds) / 1_000))
    return "\(time.standardText).\(Int(milliseconds).padded(to: 3))Z"
  }
}
