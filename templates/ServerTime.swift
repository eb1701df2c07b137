/// A time of the server: RFC 3339 in UTC with milliseconds, such as `2026-12-01T10:00:00.000Z`.
struct ServerTime: Codable, Hashable, Comparable, Sendable {
  let text: String

  /// A time as the server writes it.
  init(text: String) { self.text = text }

  init(from decoder: any Decoder) throws { text = try decoder.singleValueContainer().decode(String.self) }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(text)
  }

  /// The texts of the server are in the order of the times.
  static func < (left: ServerTime, right: ServerTime) -> Bool { left.text < right.text }
}

#if canImport(Foundation)
  import Foundation

  extension ServerTime {
    /// A date, rounded to milliseconds.
    init(_ date: Date) {
      let milliseconds = (date.timeIntervalSince1970 * 1_000).rounded()
      let seconds = (milliseconds / 1_000).rounded(.down)
      let fraction = String(1_000 + Int(milliseconds - seconds * 1_000)).dropFirst()
      let start = Date(timeIntervalSince1970: seconds).formatted(.iso8601).dropLast()
      self.init(text: "\(start).\(fraction)Z")
    }

    /// The time as a date; nil if the text is not a time.
    var date: Date? {
      (try? Date(text, strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true)))
        ?? (try? Date(text, strategy: .iso8601))
    }
  }
#endif
