import Synchronization

/// Keeps the lines of a log.
public final class LogRecorder: Sendable {
  private let all = Mutex<[String]>([])

  /// Makes a recorder without lines.
  public init() {}

  /// The lines in order.
  public var lines: [String] { all.withLock { $0 } }
  /// The lines as one text.
  public var text: String { lines.joined() }

  /// Adds a line.
  public func record(_ line: [UInt8]) {
    all.withLock { $0.append(String(decoding: line, as: UTF8.self)) }
  }

  /// The lines about requests.
  public var requests: [String] {
    lines.filter { $0.contains("INFO request ") || $0.contains(#""message":"request""#) }
  }
}
