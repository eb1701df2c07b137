/// A moment. Its text is RFC 3339 in UTC with milliseconds: `2026-11-21T05:00:00.000Z`.
public struct Timestamp: Sendable, Hashable, Comparable, CustomStringConvertible {
  /// Milliseconds since 1970 in UTC, never negative.
  public let millisecondsSince1970: Int64

  /// A moment from milliseconds since 1970, clamped to the years 1970 to 9999.
  public init(millisecondsSince1970 milliseconds: Int64) {
    millisecondsSince1970 = min(max(milliseconds, 0), Self.latest)
  }

  /// The end of the year 9999.
  private static let latest: Int64 = 253_402_300_799_999

  /// Parses a time in RFC 3339, such as `2026-12-01T10:00:00Z` or `2026-12-01t11:00:00.25+01:00`.
  /// Fractions of a millisecond are cut off. Nil for any other text, and for a time before 1970 or
  /// after 9999.
  public init?(_ text: String) {
    var reader = TimeReader(text)
    guard let milliseconds = reader.millisecondsSince1970(), (0...Self.latest).contains(milliseconds) else {
      return nil
    }
    self.init(millisecondsSince1970: milliseconds)
  }

  /// In order of time.
  public static func < (left: Timestamp, right: Timestamp) -> Bool {
    left.millisecondsSince1970 < right.millisecondsSince1970
  }

  /// The RFC 3339 form.
  public var description: String {
    let (seconds, milliseconds) = Int(millisecondsSince1970).quotientAndRemainder(dividingBy: 1000)
    let time = LocalTime(seconds)
    // Each write of an element with times makes such texts. String interpolation takes ten times as
    // long.
    return String(unsafeUninitializedCapacity: 24) { text in
      var place = 0
      func append(_ number: Int, _ digits: Int, then end: Unicode.Scalar) {
        var rest = number
        for place in (place..<place + digits).reversed() {
          text.initializeElement(at: place, to: UInt8(ascii: "0") + UInt8(rest % 10))
          rest /= 10
        }
        text.initializeElement(at: place + digits, to: UInt8(ascii: end))
        place += digits + 1
      }
      append(time.date.year, 4, then: "-")
      append(time.date.month, 2, then: "-")
      append(time.date.day, 2, then: "T")
      append(time.hour, 2, then: ":")
      append(time.minute, 2, then: ":")
      append(time.second, 2, then: ".")
      append(milliseconds, 3, then: "Z")
      return place
    }
  }

  /// The moment that is `duration` earlier.
  public func earlier(by duration: Duration) -> Timestamp {
    Timestamp(millisecondsSince1970: millisecondsSince1970 - duration.wholeMilliseconds)
  }
}

/// As a string in RFC 3339. Any valid spelling is read, and `description` is written.
extension Timestamp: Codable {
  /// The fault of a text that is no timestamp.
  package static let fault =
    "It must be a time from 1970 to 9999 in RFC 3339, such as 2026-12-01T10:00:00Z or 2026-12-01T11:00:00.250+01:00."

  /// Reads a time. Throws a `DecodingError` if the text is not one.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard let time = Timestamp(try container.decode(String.self)) else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: Self.fault)
    }
    self = time
  }

  /// Writes the time.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }
}
