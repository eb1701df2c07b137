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

/// A day of the Gregorian calendar.
///
/// Written here because the alternative is ICU, three times this program's size. The arithmetic is Howard Hinnant's
/// `civil_from_days`: years begin in March, so that the leap day is the last one.
public struct CivilDate: Sendable, Equatable {
  /// The year, with its century.
  public let year: Int
  /// The month, from 1.
  public let month: Int
  /// The day of the month, from 1.
  public let day: Int

  /// The day that begins so many days after 1 January 1970; not for days before it.
  public init(daysSince1970 days: Int) {
    let (era, dayOfEra) = (days + 719_468).quotientAndRemainder(dividingBy: 146_097)
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let monthFromMarch = (5 * dayOfYear + 2) / 153
    day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
    month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
    year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
  }
}

extension [UInt8] {
  fileprivate mutating func append(twoDigits number: Int) {
    append(UInt8(ascii: "0") + UInt8(number / 10 % 10))
    append(UInt8(ascii: "0") + UInt8(number % 10))
  }
}
