import Testing

/// Where the failures of this library's own checks go.
public struct FailureReporter: Sendable {
  private let receive: @Sendable (String, FailureLocation) -> Void

  /// Hands each failure text to `receive`: for another test framework, or to test failures themselves.
  public init(_ receive: @escaping @Sendable (String, FailureLocation) -> Void) {
    self.receive = receive
  }

  /// Records an issue of Swift Testing. The default everywhere.
  public static let issue = FailureReporter { text, location in
    Issue.record(
      Comment(rawValue: text),
      sourceLocation: SourceLocation(
        fileID: location.fileID,
        filePath: location.filePath,
        line: location.line,
        column: location.column
      )
    )
  }

  func report(_ text: String, _ location: FailureLocation) {
    receive(text, location)
  }
}

/// The place in a test that a failure points to.
public struct FailureLocation: Sendable {
  let fileID: String
  let filePath: String
  /// The line of the check.
  public let line: Int
  let column: Int

  /// The caller's place.
  public static func here(
    fileID: String = #fileID,
    filePath: String = #filePath,
    line: Int = #line,
    column: Int = #column
  ) -> FailureLocation {
    FailureLocation(fileID: fileID, filePath: filePath, line: line, column: column)
  }
}
