import Testing

/// Receives the failures of this library's checks.
public struct FailureReporter: Sendable {
  private let receive: @Sendable (String, SourceLocation) -> Void

  /// Passes each failure text to `receive`, for another test framework or for tests of failures.
  public init(_ receive: @escaping @Sendable (String, SourceLocation) -> Void) {
    self.receive = receive
  }

  /// Records an issue of Swift Testing. This is the default.
  public static let issue = FailureReporter { text, location in
    Issue.record(Comment(rawValue: text), sourceLocation: location)
  }

  func report(_ text: String, _ location: SourceLocation) {
    receive(text, location)
  }
}
