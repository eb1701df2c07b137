import LockstepTime

/// A time as HTTP writes it: `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110, 5.6.7).
public enum HTTPDate {
  private static let days: [StaticString] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
  private static let months: [StaticString] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  /// The field line `Date: …` for a time in seconds since 1970, from 1970 on and to the end of the year 9999.
  public static func field(secondsSince1970 seconds: Int) -> [UInt8] {
    let bounded = min(max(seconds, 0), 253_402_300_799)
    let (days, second) = bounded.quotientAndRemainder(dividingBy: 86_400)
    let date = CivilDate(daysSince1970: days)
    var output: [UInt8] = []
    output.append(literal: "Date: ")
    output.append(literal: Self.days[days % 7])
    output.append(literal: ", ")
    output.append(twoDigits: date.day)
    output.append(literal: " ")
    output.append(literal: months[date.month - 1])
    output.append(literal: " ")
    output.append(twoDigits: date.year / 100)
    output.append(twoDigits: date.year % 100)
    output.append(literal: " ")
    output.append(twoDigits: second / 3600)
    output.append(literal: ":")
    output.append(twoDigits: second / 60 % 60)
    output.append(literal: ":")
    output.append(twoDigits: second % 60)
    output.append(literal: " GMT\r\n")
    return output
  }
}

extension [UInt8] {
  fileprivate mutating func append(twoDigits number: Int) {
    append(UInt8(ascii: "0") + UInt8(number / 10 % 10))
    append(UInt8(ascii: "0") + UInt8(number % 10))
  }
}
