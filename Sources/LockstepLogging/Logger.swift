import LockstepJSON
import LockstepTime

/// Writes one log line for each event, with fields.
///
/// Callers must never pass a token, a password, a body, a header or a query as a field.
public struct Logger: Sendable {
  private let level: LogLevel
  private let format: LogFormat
  private let now: @Sendable () -> Timestamp
  private let write: @Sendable ([UInt8]) -> Void

  /// A logger that passes complete lines, with their line feeds, to `write`.
  public init(
    level: LogLevel,
    format: LogFormat,
    now: @escaping @Sendable () -> Timestamp,
    write: @escaping @Sendable ([UInt8]) -> Void
  ) {
    self.level = level
    self.format = format
    self.now = now
    self.write = write
  }

  /// A logger without output.
  public static let silent = Logger(level: .error, format: .text, now: { Timestamp(millisecondsSince1970: 0) }) { _ in }

  /// Writes a line if `level` is at least the logger's level.
  public func log(_ level: LogLevel, _ message: String, _ fields: KeyValuePairs<String, JSON> = [:]) {
    guard level >= self.level else { return }
    write(Self.line(level, message, fields, at: now(), in: format))
  }

  /// A complete line, with its line feed.
  static func line(
    _ level: LogLevel,
    _ message: String,
    _ fields: KeyValuePairs<String, JSON>,
    at time: Timestamp,
    in format: LogFormat
  ) -> [UInt8] {
    switch format {
    case .text:
      var line = "\(time) \(level.rawValue.uppercased()) \(message)"
      for (name, value) in fields { line += " \(name)=\(text(value))" }
      return Array((line + "\n").utf8)
    case .json:
      var line: JSONObject = [
        "time": .string(time.description), "level": .string(level.rawValue), "message": .string(message),
      ]
      for (name, value) in fields { line[name] = value }
      return JSON.object(line).encoded() + [UInt8(ascii: "\n")]
    }
  }

  /// Simple strings are written without quotation marks, all other values as JSON. Neither contains
  /// line feeds.
  private static func text(_ value: JSON) -> String {
    if case .string(let text) = value, !text.isEmpty, text.utf8.allSatisfy(isPlain) { return text }
    return String(decoding: value.encoded(), as: UTF8.self)
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    byte > 0x20 && byte < 0x7F && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "=")
  }
}

/// The importance of a log line.
public enum LogLevel: String, Sendable, CaseIterable, Comparable {
  /// For finding bugs in Lockstep.
  case debug
  /// Normal events: starts, stops, settings.
  case info
  /// A problem that the server handles.
  case warning
  /// A failure.
  case error

  /// In order of importance.
  public static func < (left: LogLevel, right: LogLevel) -> Bool { left.importance < right.importance }

  private static let inOrder = allCases
  private var importance: Int { Self.inOrder.firstIndex(of: self) ?? 0 }
}

/// The format of log lines.
public enum LogFormat: String, Sendable, CaseIterable {
  /// For people: `2026-11-21T05:00:00.000Z INFO listening address=127.0.0.1:8080`.
  case text
  /// For machines: one JSON object per line.
  case json
}
