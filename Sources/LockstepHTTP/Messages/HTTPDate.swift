import LockstepTime

/// A time as HTTP writes it: `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110, 5.6.7).
public enum HTTPDate {
  private static let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
  private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

  /// The field line `Date: …` for a time in seconds since 1970. A time outside the years 1970 to
  /// 9999 becomes the nearest time inside.
  public static func field(secondsSince1970 seconds: Int) -> [UInt8] {
    let bounded = min(max(seconds, 0), 253_402_300_799)
    let (day, second) = bounded.quotientAndRemainder(dividingBy: 86_400)
    let date = CivilDate(daysSince1970: day)
    let time = [second / 3600, second / 60 % 60, second % 60].map { $0.padded(to: 2) }.joined(separator: ":")
    let words = [date.day.padded(to: 2), months[date.month - 1], date.year.padded(to: 4), time]
    return Array("Date: \(days[day % 7]), \(words.joined(separator: " ")) GMT\r\n".utf8)
  }
}
