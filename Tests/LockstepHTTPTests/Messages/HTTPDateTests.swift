@testable import LockstepHTTP
import LockstepTime
import Testing

@Suite("Times are written in the format of HTTP", .timeLimit(.minutes(10)))
struct HTTPDateTests {
  @Test(
    "Known times are written as RFC 9110 requires",
    arguments: [
      (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
      (1, "Thu, 01 Jan 1970 00:00:01 GMT"),
      (86_399, "Thu, 01 Jan 1970 23:59:59 GMT"),
      (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
      (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"),
      (951_868_800, "Wed, 01 Mar 2000 00:00:00 GMT"),
      (1_709_164_800, "Thu, 29 Feb 2024 00:00:00 GMT"),
      (1_740_787_199, "Fri, 28 Feb 2025 23:59:59 GMT"),
      (1_740_787_200, "Sat, 01 Mar 2025 00:00:00 GMT"),
      (2_147_483_648, "Tue, 19 Jan 2038 03:14:08 GMT"),
      (4_107_542_400, "Mon, 01 Mar 2100 00:00:00 GMT"),
      (253_402_300_799, "Fri, 31 Dec 9999 23:59:59 GMT"),
    ]
  )
  func known(seconds: Int, date: String) {
    #expect(field(seconds) == "Date: \(date)\r\n")
  }

  @Test("A time outside the range is written as the nearest time inside it")
  func outside() {
    #expect(field(-1) == field(0))
    #expect(field(.min) == field(0))
    #expect(field(253_402_300_800) == field(253_402_300_799))
    #expect(field(.max) == field(253_402_300_799))
  }

  @Test("Every day of four centuries equals the day found by counting")
  func slowReference() {
    var date = CivilDate(daysSince1970: 0)
    var mistakes = 0
    for day in 1...146_097 {
      let next = CivilDate(daysSince1970: day)
      if (next.year, next.month, next.day) != dayAfter(date) { mistakes += 1 }
      date = next
    }
    #expect(mistakes == 0)
    #expect((date.year, date.month, date.day) == (2370, 1, 1))
  }

  @Test("Every date has the same length, so a cached one can be overwritten in place")
  func length() {
    for seconds in stride(from: 0, through: 253_402_300_799, by: 98_765_432) {
      #expect(HTTPDate.field(secondsSince1970: seconds).count == 37)
    }
  }

  private func field(_ seconds: Int) -> String {
    String(decoding: HTTPDate.field(secondsSince1970: seconds), as: UTF8.self)
  }

  private func dayAfter(_ date: CivilDate) -> (Int, Int, Int) {
    let isLeapYear = date.year % 4 == 0 && (date.year % 100 != 0 || date.year % 400 == 0)
    let lengths = [31, isLeapYear ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    if date.day < lengths[date.month - 1] { return (date.year, date.month, date.day + 1) }
    return date.month < 12 ? (date.year, date.month + 1, 1) : (date.year + 1, 1, 1)
  }
}
