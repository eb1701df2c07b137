import Testing

@testable import LockstepBuiltInScreens
@testable import LockstepCollections
@testable import LockstepTime

@Suite("Rules for the clock changes of every year", .timeLimit(.minutes(10)))
struct RecurringRuleTests {
  /// A rule, times in seconds since 1970, and the hours ahead of UTC.
  private static let offsets: [(rule: String, times: [(time: Int64, hours: Double)])] = [
    ("UTC0", [(0, 0), (4_000_000_000, 0)]),
    ("<+0545>-5:45", [(4_000_000_000, 5.75)]), ("<-03>+3", [(0, -3)]),
    // Berlin, 2026: 29 March 01:00 UTC and 25 October 01:00 UTC.
    (
      "CET-1CEST,M3.5.0,M10.5.0/3",
      [(1_774_745_999, 1), (1_774_746_000, 2), (1_792_889_999, 2), (1_792_890_000, 1), (1_767_222_000, 1)]
    ),
    // New York, 2026: 8 March 07:00 UTC and 1 November 06:00 UTC.
    ("EST5EDT,M3.2.0,M11.1.0", [(1_772_953_199, -5), (1_772_953_200, -4), (1_793_512_799, -4), (1_793_512_800, -5)]),
    // Sydney, 2026: summer ends on 4 April 16:00 UTC and begins on 3 October 16:00 UTC.
    (
      "AEST-10AEDT,M10.1.0,M4.1.0/3",
      [(1_775_318_399, 11), (1_775_318_400, 10), (1_791_043_199, 10), (1_791_043_200, 11), (1_798_761_600, 11)]
    ),
    // Dublin: the rule describes winter as the exception.
    ("IST-1GMT0,M10.5.0,M3.5.0/1", [(1_774_745_999, 0), (1_774_746_000, 1), (1_792_889_999, 1), (1_792_890_000, 0)]),
    // Nuuk: the day before the last Sunday of March at 22:00 and of October at 23:00.
    ("<-02>2<-01>,M3.5.0/-1,M10.5.0/0", [(1_774_745_999, -2), (1_774_746_000, -1), (1_792_890_000, -2)]),
    // Gaza, by an older rule: 50 hours after midnight on Thursday.
    ("EET-2EEST,M3.4.4/50,M10.4.4/50", [(1_774_655_999, 2), (1_774_656_000, 3)]),
    // 2024 has a 29 February: day J60 is 1 March, and so is day 60, which is counted from 0.
    ("AAA0BBB,J60/0,J61/0", [(1_709_251_199, 0), (1_709_251_200, 1), (1_709_334_000, 0)]),
    ("AAA0BBB,59/0,60/0", [(1_709_164_799, 0), (1_709_164_800, 1), (1_709_247_600, 0)]),
    // Summer time all year, as RFC 9636 writes it.
    ("XXX3EDT4,0/0,J365/23", [(0, -4), (1_767_236_400, -4), (1_767_225_599, -4), (1_780_000_000, -4)]),
    ("AAA-24BBB-24:59:59,M1.1.0,M12.1.0", [(1_767_225_600, 24)]),
  ]

  @Test("Rules of both hemispheres and of all forms apply from the exact second on", arguments: offsets)
  func offset(rule: String, times: [(time: Int64, hours: Double)]) throws {
    let parsed = try RecurringRule(parsing: rule.utf8)
    for (time, hours) in times {
      #expect(Double(parsed.offset(at: time)) == hours * 3_600, "\(rule) at \(time)")
    }
  }

  @Test(
    "The earliest and the latest times have an offset too",
    arguments: [Int64.min, Int64.min + 1, -(1 << 50), 1 << 50, Int64.max]
  )
  func extremes(time: Int64) throws {
    let rule = try RecurringRule(parsing: "CET-1CEST,M3.5.0,M10.5.0/3".utf8)
    #expect([3_600, 7_200].contains(rule.offset(at: time)))
  }

  @Test(
    "Any other text is refused",
    arguments: [
      "", "A", "AB1", "ABC", "ABCx", "ABC25", "ABC1:60", "ABC1:00:60", "ABC1:", "ABC-", "<AB>1", "<ABC1", "<A C>1",
      "ABC1D", "ABC1DEF", "ABC1DEF,M3.5.0", "ABC1DEF,M3.5.0,", "ABC1DEF,M3.5.0,M10.5.0,", "ABC1DEF,M0.5.0,M10.5.0",
      "ABC1DEF,M13.5.0,M10.5.0", "ABC1DEF,M3.0.0,M10.5.0", "ABC1DEF,M3.6.0,M10.5.0", "ABC1DEF,M3.5.7,M10.5.0",
      "ABC1DEF,M3.5,M10.5.0", "ABC1DEF,J0,J365", "ABC1DEF,J366,J1", "ABC1DEF,366,0", "ABC1DEF,M3.5.0/168,M10.5.0",
      "ABC1DEF,M3.5.0/,M10.5.0", "ABC1DEF,M3.5.0/-168,M10.5.0", "ABC1DEF,M0003.5.0,M10.5.0", "ABC1 ", ":ABC1",
    ]
  )
  func refused(rule: String) {
    #expect(throws: TimeZoneError.self) { try RecurringRule(parsing: rule.utf8) }
  }
}
