import Testing

/// Where the failures of this library's own checks go.
public struct FailureReporter: Sendable {
  private let receive: @Sendable (String, SourceLocation) -> Void

  /// Hands each failure text to `receive`: for another test framework, or to test failures themselves.
  public init(_ receive: @escaping @Sendable (String, SourceLocation) -> Void) {
    self.receive = receive
  }

  /// Records an issue of Swift Testing. The default everywhere.
  public static let issue = FailureReporter { text, location in
    Issue.record(Comment(rawValue: text), sourceLocation: location)
  }

  func report(_ text: String, _ location: SourceLocation) {
    receive(text, location)
  }
}
