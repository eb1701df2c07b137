import LockstepTime
import Testing

@Suite("The calendar", .timeLimit(.minutes(10)))
struct CivilDateTests {
  private static let lengths = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

  /// The Gregorian rule.
  private static func length(_ month: Int, _ year: Int) -> Int {
    let isLeapYear = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
    return month == 2 && isLeapYear ? 29 : lengths[month - 1]
  }

  @Test(
    "From the year -10,000 to 10,000, each month follows the one before and has the right days"
  )
  func everyMonth() {
    // The year -10000 is a multiple of 400 years before 2000, and 2000 began 10,957 days after
    // 1970.
    var day = 10_957 - 12_000 / 400 * 146_097
    var mistakes = 0
    for year in -10_000...10_000 {
      for month in 1...12 {
        let length = Self.length(month, year)
        if CivilDate.daysSince1970(year: year, month: month) != day { mistakes += 1 }
        if CivilDate.length(ofMonth: month, year: year) != length { mistakes += 1 }
        for offset in [0, 14, length - 1] {
          let date = CivilDate(daysSince1970: day + offset)
          if (date.year, date.month, date.day) != (year, month, offset + 1) { mistakes += 1 }
        }
        day += length
      }
    }
    #expect(mistakes == 0)
    #expect(day == CivilDate.daysSince1970(year: 10_001, month: 1))
  }

  @Test("A week has seven days, forward and backward")
  func weekdays() {
    // 1 January 1970 was a Thursday, and 21 November 2026 is a Saturday.
    #expect(CivilDate.weekday(daysSince1970: 0) == 4)
    #expect(CivilDate.weekday(daysSince1970: CivilDate.daysSince1970(year: 2026, month: 11) + 20) == 6)
    var mistakes = 0
    for day in -4_000_000..<4_000_000 where day % 997 == 0 || abs(day) < 20 {
      let next = CivilDate.weekday(daysSince1970: day + 1)
      if next != (CivilDate.weekday(daysSince1970: day) + 1) % 7 || !(0...6).contains(next) { mistakes += 1 }
    }
    #expect(mistakes == 0)
  }
}
