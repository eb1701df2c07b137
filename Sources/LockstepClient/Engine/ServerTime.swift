import LockstepTime

/// The time of the server: the `Date` of its latest response, and what has passed since then.
///
/// The clock of the device may be wrong, and the user may set it. So another clock measures the time that has passed:
/// it also runs while the device sleeps, and the user cannot set it.
struct ServerTime: Sendable {
  private let date: Timestamp
  private let passed: @Sendable () -> Duration

  /// Nil if the text is not the value of a `Date` field.
  init?(_ text: String?, on clock: some Clock<Duration>) {
    guard let date = text.flatMap({ Self.date($0) }) else { return nil }
    let start = clock.now
    self.date = date
    passed = { start.duration(to: clock.now) }
  }

  /// The time now.
  var now: Timestamp {
    Timestamp(millisecondsSince1970: date.millisecondsSince1970 + passed().milliseconds)
  }

  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  /// Reads the form that servers must send (RFC 9110, 5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`.
  static func date(_ text: String) -> Timestamp? {
    let words = text.split(separator: " ")
    guard words.count == 6, words[5] == "GMT", let day = number(words[1], 2), (1...31).contains(day),
      let month = months.firstIndex(of: String(words[2])), let year = number(words[3], 4)
    else { return nil }
    let clock = words[4].split(separator: ":").compactMap { number($0, 2) }
    guard clock.count == 3, clock[0] < 24, clock[1] < 60, clock[2] <= 60 else { return nil }
    let days = CivilDate.daysSince1970(year: year, month: month + 1) + day - 1
    let seconds = ((days * 24 + clock[0]) * 60 + clock[1]) * 60 + clock[2]
    return Timestamp(millisecondsSince1970: Int64(seconds) * 1_000)
  }

  private static func number(_ text: Substring, _ digits: Int) -> Int? {
    text.utf8.count == digits && text.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int(text) : nil
  }
}
