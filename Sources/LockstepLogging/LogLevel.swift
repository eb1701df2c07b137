/// How much a line matters.
public enum LogLevel: String, Sendable, CaseIterable, Comparable {
  /// For whoever looks for a fault in Lockstep itself.
  case debug
  /// What an operator may want to know: starts, stops, settings.
  case info
  /// Something is wrong or unusual, and the server copes.
  case warning
  /// Something failed that shouldn't.
  case error

  /// In order of weight.
  public static func < (left: LogLevel, right: LogLevel) -> Bool { left.weight < right.weight }

  private var weight: Int {
    switch self {
    case .debug: 0
    case .info: 1
    case .warning: 2
    case .error: 3
    }
  }
}

/// How a line is written.
public enum LogFormat: String, Sendable, CaseIterable {
  /// For people: `2026-11-21T05:00:00.000Z INFO listening address=127.0.0.1:8080`.
  case text
  /// For machines: one JSON object a line.
  case json
}
