/// A date and a time of day, such as those of a time zone.
package struct LocalTime: Sendable {
  package let date: CivilDate
  package let hour: Int
  package let minute: Int
  package let second: Int

  /// `seconds` are local seconds since 1970.
  package init(_ seconds: Int) {
    let second = (seconds % 86_400 + 86_400) % 86_400
    date = CivilDate(daysSince1970: (seconds - second) / 86_400)
    hour = second / 3_600
    minute = second / 60 % 60
    self.second = second % 60
  }

  /// For example `2026-11-21T09:05:00`.
  package var standardText: String {
    "\(date.year.padded(to: 4))-\(date.month.padded(to: 2))-\(date.day.padded(to: 2))T\(clock):\(second.padded(to: 2))"
  }

  /// For example `09:05`.
  package var clock: String { "\(hour.padded(to: 2)):\(minute.padded(to: 2))" }
}

extension Int {
  /// The number in decimal, with leading zeros up to `width` digits.
  package func padded(to width: Int) -> String {
    let digits = String(self)
    return String(repeating: "0", count: Swift.max(0, width - digits.count)) + digits
  }
}
