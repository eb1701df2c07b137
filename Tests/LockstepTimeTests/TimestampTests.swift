import Testing

@testable import LockstepTime

@Suite("A time is read in every valid spelling, and written in one", .timeLimit(.minutes(10)))
struct TimestampTests {
  @Test(
    "Each spelling of RFC 3339 is the same moment",
    arguments: [
      ("2026-12-01T10:00:00Z", "2026-12-01T10:00:00.000Z"), ("2026-12-01t10:00:00z", "2026-12-01T10:00:00.000Z"),
      ("2026-12-01T10:00:00.5Z", "2026-12-01T10:00:00.500Z"),
      ("2026-12-01T10:00:00.123999999Z", "2026-12-01T10:00:00.123Z"),
      ("2026-12-01T11:00:00+01:00", "2026-12-01T10:00:00.000Z"),
      ("2026-12-01T04:30:00.250-05:30", "2026-12-01T10:00:00.250Z"),
      ("2026-12-01T10:00:00-00:00", "2026-12-01T10:00:00.000Z"),
      ("2026-12-31T23:59:59-23:59", "2027-01-01T23:58:59.000Z"),
      ("2028-02-29T00:00:00Z", "2028-02-29T00:00:00.000Z"), ("2016-12-31T23:59:60Z", "2017-01-01T00:00:00.000Z"),
      ("2017-01-01T00:59:60.9+01:00", "2017-01-01T00:00:00.000Z"), ("1970-01-01T00:00:00Z", "1970-01-01T00:00:00.000Z"),
      ("9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"),
    ]
  )
  func spellings(text: String, canonical: String) throws {
    #expect(try #require(Timestamp(text)).description == canonical)
  }

  @Test(
    "Any other text is no time",
    arguments: [
      "", "tomorrow", "2026-12-01", "2026-12-01T10:00Z", "2026-12-01T10:00:00", "2026-12-01 10:00:00Z",
      "2026-12-01T10:00:00.Z", "2026-12-01T10:00:00,5Z", "2026-12-01T10:00:00+0100", "2026-12-01T10:00:00+24:00",
      "2026-12-01T10:00:00+01:60", "2026-13-01T10:00:00Z", "2026-00-01T10:00:00Z", "2026-12-00T10:00:00Z",
      "2026-02-29T10:00:00Z", "2026-12-01T24:00:00Z", "2026-12-01T10:60:00Z", "2026-12-01T10:00:61Z",
      "2026-12-01T10:00:60Z", "2026-12-01T10:00:00ZZ", " 2026-12-01T10:00:00Z", "+026-12-01T10:00:00Z",
      "2026-1-01T10:00:00Z", "1969-12-31T23:59:59.999Z", "0000-01-01T00:00:00Z", "9999-12-31T23:59:59-01:00",
      "٢٠٢٦-12-01T10:00:00Z",
    ]
  )
  func others(text: String) { #expect(Timestamp(text) == nil) }

  @Test("Each moment is the same after it was written and read")
  func roundTrip() throws {
    let seed = UInt64.random(in: .min ... .max)
    var state = seed
    for _ in 0..<20_000 {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      let time = Timestamp(millisecondsSince1970: Int64(state >> 16) % 253_402_300_800_000)
      let (seconds, milliseconds) = Int(time.millisecondsSince1970).quotientAndRemainder(dividingBy: 1000)
      let text = "\(LocalTime(seconds).standardText).\(milliseconds.padded(to: 3))Z"
      try #require(time.description == text, "seed \(seed)")
      try #require(Timestamp(text) == time, "seed \(seed)")
    }
  }
}
