import Testing

@testable import LockstepBuiltInScreens
@testable import LockstepCollections
@testable import LockstepTime

@Suite("Dates are written as people write them", .timeLimit(.minutes(10)))
struct DateTextTests {
  private static func zone(_ seconds: Int) -> TimeZoneRules {
    TimeZoneRules(first: seconds, transitions: [], rule: nil)
  }

  private func text(_ milliseconds: Int64, _ language: String, _ offset: Int?) -> String {
    Timestamp(millisecondsSince1970: milliseconds).text(language: language, timeZone: offset.map(Self.zone))
  }

  /// 21 November 2026, 08:05:59.999 UTC.
  private static let moment: Int64 = 1_795_248_359_999

  private static let languages: [(tag: String, text: String)] = [
    ("en", "21 November 2026 at 09:05"), ("en-GB", "21 November 2026 at 09:05"), ("EN_au", "21 November 2026 at 09:05"),
    ("en-US", "November 21, 2026 at 9:05 AM"), ("en_US.UTF-8", "November 21, 2026 at 9:05 AM"),
    ("en-Latn-US", "November 21, 2026 at 9:05 AM"), ("en-GB-u-rg-uszzzz", "21 November 2026 at 09:05"),
    ("en-x-us", "21 November 2026 at 09:05"),
    ("de", "21. November 2026 um 09:05 Uhr"), ("de-CH", "21. November 2026 um 09:05 Uhr"),
    ("de-AT", "21. November 2026 um 09:05 Uhr"), ("de_DE@euro", "21. November 2026 um 09:05 Uhr"),
    ("es", "21 de noviembre de 2026, 9:05"), ("es-MX", "21 de noviembre de 2026, 9:05"),
    ("fr", "21 novembre 2026 à 09:05"), ("fr-FR", "21 novembre 2026 à 09:05"),
    ("fr-CA", "21 novembre 2026 à 9\u{A0}h\u{A0}05"),
    ("ja", "2026年11月21日 9:05"), ("ja-JP", "2026年11月21日 9:05"), ("ja_JP.UTF-8", "2026年11月21日 9:05"),
    ("pt-BR", "2026-11-21T09:05:59+01:00"), ("eng", "2026-11-21T09:05:59+01:00"), ("", "2026-11-21T09:05:59+01:00"),
    ("-", "2026-11-21T09:05:59+01:00"), ("e", "2026-11-21T09:05:59+01:00"), ("日本", "2026-11-21T09:05:59+01:00"),
  ]

  @Test("The text is in the user's language, or else in ISO 8601", arguments: languages)
  func language(tag: String, text expected: String) {
    #expect(text(Self.moment, tag, 3_600) == expected)
    #expect(text(Self.moment, tag + String(repeating: "-xxxxxxxx", count: 10_000), 3_600).contains("2026"))
  }

  @Test("Each month has its name")
  func months() {
    var names: [String: [String]] = [:]
    for month in 0..<12 {
      // About the 15th of each month of 1970. Only the month matters.
      let milliseconds = Int64(month) * 2_629_800_000 + 1_209_600_000
      for tag in ["en", "de", "de-AT", "es", "fr", "ja"] {
        let words = text(milliseconds, tag, 0).split(separator: " ")
        switch tag {
        case "es": names[tag, default: []].append(String(words[2]))
        case "ja": names[tag, default: []].append(String(words[0].split { $0 == "年" || $0 == "月" }[1]))
        default: names[tag, default: []].append(String(words[1]))
        }
      }
    }
    #expect(
      names["en"]?.joined(separator: " ")
        == "January February March April May June July August September October November December"
    )
    #expect(
      names["de"]?.joined(separator: " ")
        == "Januar Februar März April Mai Juni Juli August September Oktober November Dezember"
    )
    #expect(
      names["de-AT"]?.joined(separator: " ")
        == "Jänner Februar März April Mai Juni Juli August September Oktober November Dezember"
    )
    #expect(
      names["es"]?.joined(separator: " ")
        == "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre"
    )
    #expect(
      names["fr"]?.joined(separator: " ")
        == "janvier février mars avril mai juin juillet août septembre octobre novembre décembre"
    )
    #expect(names["ja"]?.joined(separator: " ") == (1...12).map { "\($0)" }.joined(separator: " "))
  }

  /// Times in seconds since 1970 in UTC, before, at and after noon and midnight, with their texts.
  private static let hours: [(seconds: Int64, american: String, spanish: String, french: String)] = [
    (0, "January 1, 1970 at 12:00 AM", "1 de enero de 1970, 0:00", "1er janvier 1970 à 00:00"),
    (43_199, "January 1, 1970 at 11:59 AM", "1 de enero de 1970, 11:59", "1er janvier 1970 à 11:59"),
    (43_200, "January 1, 1970 at 12:00 PM", "1 de enero de 1970, 12:00", "1er janvier 1970 à 12:00"),
    (46_800, "January 1, 1970 at 1:00 PM", "1 de enero de 1970, 13:00", "1er janvier 1970 à 13:00"),
    (86_399, "January 1, 1970 at 11:59 PM", "1 de enero de 1970, 23:59", "1er janvier 1970 à 23:59"),
    (86_400, "January 2, 1970 at 12:00 AM", "2 de enero de 1970, 0:00", "2 janvier 1970 à 00:00"),
  ]

  @Test("Noon and midnight have the usual texts", arguments: hours)
  func hour(seconds: Int64, american: String, spanish: String, french: String) {
    #expect(text(seconds * 1000, "en-US", 0) == american)
    #expect(text(seconds * 1000, "es", 0) == spanish)
    #expect(text(seconds * 1000, "fr", 0) == french)
  }

  @Test("Offsets may change the day and the year, also at both ends of the calendar")
  func ends() {
    #expect(text(0, "en", -3_600) == "31 December 1969 at 23:00")
    #expect(text(0, "", -3_600) == "1969-12-31T23:00:00-01:00")
    #expect(text(Self.moment, "", 20_700) == "2026-11-21T13:50:59+05:45")
    #expect(text(Self.moment, "", 0) == "2026-11-21T08:05:59Z")
    // The offset of Monrovia until 1972 has seconds, which ISO 8601 cannot write.
    #expect(text(Self.moment, "", -2_670) == "2026-11-21T08:05:59Z")
    #expect(text(Self.moment, "en", -2_670) == "21 November 2026 at 07:21")
    #expect(text(.max, "ja", 0) == "9999年12月31日 23:59")
    #expect(text(.max, "ja", 50_400) == "10000年1月1日 13:59")
    #expect(text(.min, "ja", 0) == "1970年1月1日 0:00")
  }

  @Test("An unknown zone is UTC, and the text says so")
  func unknown() {
    let texts = ["en", "en-US", "de", "es", "fr", "fr-CA", "ja"].map { text(Self.moment, $0, nil) }
    #expect(texts.allSatisfy { $0.hasSuffix(" (UTC)") && $0.contains("2026") })
    #expect(text(Self.moment, "nl", nil) == "2026-11-21T08:05:59Z")
  }
}
