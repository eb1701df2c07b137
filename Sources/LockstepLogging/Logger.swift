import LockstepJSON
import LockstepTime

/// Writes what an operator should know, one line an event, with its facts as fields.
///
/// No token, password or body is ever a field: callers name facts one by one, and a header or a query is none.
public struct Logger: Sendable {
  private let level: LogLevel
  private let format: LogFormat
  private let now: @Sendable () -> Timestamp
  private let write: @Sendable ([UInt8]) -> Void

  /// A logger that hands whole lines, with their line ends, to `write`.
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

  /// A logger that writes nothing.
  public static let silent = Logger(level: .error, format: .text, now: { Timestamp(millisecondsSince1970: 0) }) { _ in }

  /// Writes a line, if its level is to be written at all.
  public func log(_ level: LogLevel, _ message: String, _ facts: KeyValuePairs<String, JSON> = [:]) {
    guard level >= self.level else { return }
    write(Self.line(level, message, facts, at: now(), in: format))
  }

  /// A whole line, with its line end.
  static func line(
    _ level: LogLevel,
    _ message: String,
    _ facts: KeyValuePairs<String, JSON>,
    at time: Timestamp,
    in format: LogFormat
  ) -> [UInt8] {
    switch format {
    case .text: textLine(level, message, facts, time)
    case .json: jsonLine(level, message, facts, time)
    }
  }

  private static func jsonLine(
    _ level: LogLevel,
    _ message: String,
    _ facts: KeyValuePairs<String, JSON>,
    _ time: Timestamp
  ) -> [UInt8] {
    var line: JSONObject = [
      "time": .string(time.description), "level": .string(level.rawValue), "message": .string(message),
    ]
    for (name, value) in facts { line[name] = value }
    return JSON.object(line).encoded() + [UInt8(ascii: "\n")]
  }

  private static func textLine(
    _ level: LogLevel,
    _ message: String,
    _ facts: KeyValuePairs<String, JSON>,
    _ time: Timestamp
  ) -> [UInt8] {
    var line = "\(time) \(level.rawValue.uppercased()) \(message)"
    for (name, value) in facts { line += " \(name)=\(text(value))" }
    return Array((line + "\n").utf8)
  }

  /// A string that needs no quotes is written without; everything else is JSON, so a line end can't come from a fact.
  private static func text(_ value: JSON) -> String {
    if case .string(let text) = value, !text.isEmpty, text.utf8.allSatisfy(isPlain) { return text }
    return String(decoding: value.encoded(), as: UTF8.self)
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    byte > 0x20 && byte < 0x7F && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "=")
  }
}
