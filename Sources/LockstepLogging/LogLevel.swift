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

  private var importance: Int {
    switch self {
    case .debug: 0
    case .info: 1
    case .warning: 2
    case .error: 3
    }
  }
}

/// The format of log lines.
public enum LogFormat: String, Sendable, CaseIterable {
  /// For people: `2026-11-21T05:00:00.000Z INFO listening address=127.0.0.1:8080`.
  case text
  /// For machines: one JSON object per line.
  case json
}
