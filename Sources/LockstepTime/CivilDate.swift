/// A day of the proleptic Gregorian calendar, with a year 0.
///
/// ICU would be three times this program's size. The arithmetic is Howard Hinnant's
/// `civil_from_days` and `days_from_civil`: years begin in March, so that the leap day is a year's
/// last day, and are counted in eras of 400 years.
public struct CivilDate: Sendable, Equatable {
  /// The year.
  public let year: Int
  /// The month, from 1.
  public let month: Int
  /// The day of the month, from 1.
  public let day: Int

  private static let daysOfEra = 146_097
  /// The number of days from 1 March of year 0 to 1 January 1970.
  private static let daysBefore1970 = 719_468

  /// Exact for about 10^15 days before and after 1970.
  public init(daysSince1970 days: Int) {
    let shifted = days + Self.daysBefore1970
    let era = Self.floor(shifted, by: Self.daysOfEra)
    let dayOfEra = shifted - era * Self.daysOfEra
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let monthFromMarch = (5 * dayOfYear + 2) / 153
    day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
    month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
    year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
  }

  /// The number of days from 1 January 1970 to the first day of a month. `month` is from 1 to 12.
  public static func daysSince1970(year: Int, month: Int) -> Int {
    let yearFromMarch = month <= 2 ? year - 1 : year
    let era = floor(yearFromMarch, by: 400)
    let yearOfEra = yearFromMarch - era * 400
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    return era * daysOfEra + dayOfEra - daysBefore1970
  }

  /// The day of the week, where 0 is Sunday. 1 January 1970 was a Thursday.
  public static func weekday(daysSince1970 days: Int) -> Int { (days % 7 + 11) % 7 }

  /// The number of days in a month. `month` is from 1 to 12.
  public static func length(ofMonth month: Int, year: Int) -> Int {
    let next = month == 12 ? daysSince1970(year: year + 1, month: 1) : daysSince1970(year: year, month: month + 1)
    return next - daysSince1970(year: year, month: month)
  }

  private static func floor(_ number: Int, by divisor: Int) -> Int {
    let (quotient, remainder) = number.quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? quotient - 1 : quotient
  }
}
