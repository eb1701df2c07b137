/// A date and a time of day, such as those of a time zone.
public struct LocalTime: Sendable {
  /// The date.
  public let date: CivilDate
  /// The hour, from 0 to 23.
  public let hour: Int
  /// The minute, from 0 to 59.
  public let minute: Int
  /// The second, from 0 to 59.
  public let second: Int

  /// `seconds` are local seconds since 1970.
  public init(_ seconds: Int) {
    let second = (seconds % 86_400 + 86_400) % 86_400
    date = CivilDate(daysSince1970: (seconds - second) / 86_400)
    hour = second / 3_600
    minute = second / 60 % 60
    self.second = second % 60
  }

  /// For example `2026-11-21T09:05:00`.
  public var standardText: String {
    "\(date.year.padded(to: 4))-\(date.month.padded(to: 2))-\(date.day.padded(to: 2))T\(clock):\(second.padded(to: 2))"
  }

  /// For example `09:05`.
  public var clock: String { "\(hour.padded(to: 2)):\(minute.padded(to: 2))" }
}

extension Int {
  /// The number in decimal, with leading zeros up to `width` digits.
  package func padded(to width: Int) -> String {
    let digits = String(self)
    return String(repeating: "0", count: Swift.max(0, width - digits.count)) + digits
  }
}
