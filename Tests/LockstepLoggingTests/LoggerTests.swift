import LockstepJSON
import LockstepTestSupport
import Testing

@testable import LockstepLogging
@testable import LockstepTime

@Suite("A log line is one line, whatever it contains", .timeLimit(.minutes(10)))
struct LoggerTests {
  private func logged(
    _ format: LogFormat,
    _ facts: KeyValuePairs<String, JSON>,
    level: LogLevel = .debug,
    at writtenLevel: LogLevel = .info
  ) -> String? {
    let recorder = LogRecorder()
    let logger = Logger(
      level: level,
      format: format,
      now: { Timestamp(millisecondsSince1970: 1) },
      write: { recorder.record($0) }
    )
    logger.log(writtenLevel, "it happened", facts)
    return recorder.lines.first
  }

  /// Values, and their form in a line of text.
  private static let values: [(value: JSON, text: String)] = [
    ("plain", "plain"), ("", #""""#), ("two words", #""two words""#), ("a=b", #""a=b""#), (#"""#, #""\"""#),
    ("line\nend", #""line\nend""#), ("\r\n", #""\r\n""#), ("\u{1B}[31m", #""\u001b[31m""#), ("é", #""é""#),
    ("/a/b:c", "/a/b:c"), (7, "7"), (true, "true"), (nil, "null"), (["a", 1], #"["a",1]"#), (1.5, "1.5"),
    ("\u{7F}", "\"\u{7F}\""),
  ]

  @Test("Text quotes values with special characters", arguments: values)
  func text(value: JSON, text: String) {
    #expect(logged(.text, ["fact": value]) == "1970-01-01T00:00:00.001Z INFO it happened fact=\(text)\n")
  }

  @Test("JSON keeps values unchanged", arguments: values)
  func json(value: JSON, text: String) throws {
    let line = try #require(logged(.json, ["fact": value]))
    #expect(line.filter { $0.isNewline }.count == 1)
    let parsed = try JSON(parsing: Array(line.utf8))
    #expect(
      parsed
        == ["time": "1970-01-01T00:00:00.001Z", "level": "info", "message": "it happened", "fact": value]
    )
  }

  @Test("Fields are in the given order")
  func order() {
    #expect(logged(.text, ["z": 1, "a": 2])?.hasSuffix(" z=1 a=2\n") == true)
    #expect(logged(.json, ["z": 1, "a": 2])?.hasSuffix(#","z":1,"a":2}"# + "\n") == true)
  }

  @Test("Lines below the level are not written", arguments: LogLevel.allCases, LogLevel.allCases)
  func level(least: LogLevel, written: LogLevel) throws {
    let order: [LogLevel] = [.debug, .info, .warning, .error]
    let leastPlace = try #require(order.firstIndex(of: least))
    let isWritten = order[leastPlace...].contains(written)
    #expect((logged(.text, [:], level: least, at: written) != nil) == isWritten)
  }

  /// Milliseconds since 1970, and the time as text. GNU `date` gave the expected texts.
  private static let moments: [(milliseconds: Int64, text: String)] = [
    (0, "1970-01-01T00:00:00.000Z"), (-1, "1970-01-01T00:00:00.000Z"), (.min, "1970-01-01T00:00:00.000Z"),
    (999, "1970-01-01T00:00:00.999Z"), (1000, "1970-01-01T00:00:01.000Z"), (86_399_999, "1970-01-01T23:59:59.999Z"),
    (86_400_000, "1970-01-02T00:00:00.000Z"), (951_782_399_999, "2000-02-28T23:59:59.999Z"),
    (951_782_400_000, "2000-02-29T00:00:00.000Z"), (951_868_800_000, "2000-03-01T00:00:00.000Z"),
    (1_709_164_800_001, "2024-02-29T00:00:00.001Z"), (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
    (253_402_300_799_999, "9999-12-31T23:59:59.999Z"), (253_402_300_800_000, "9999-12-31T23:59:59.999Z"),
    (.max, "9999-12-31T23:59:59.999Z"),
  ]

  @Test("A time is written in RFC 3339 with milliseconds, from 1970 to 9999", arguments: moments)
  func timestamp(milliseconds: Int64, text: String) {
    #expect(Timestamp(millisecondsSince1970: milliseconds).description == text)
  }

  @Test("Times sort in the same order as their texts")
  func timestampOrder() {
    let moments = Self.moments.map { Timestamp(millisecondsSince1970: $0.milliseconds) }
    for left in moments {
      for right in moments { #expect((left < right) == (left.description < right.description)) }
    }
  }
}
