import LockstepTime

/// The clock and the languages for the reactor of a new screen, and the way to report its errors.
public struct ScreenContext: Sendable {
  /// The clock for delays and time-outs. Tests pass a virtual one.
  public let clock: any Clock<Duration>
  /// Reads the date and time.
  public let now: @Sendable () -> Timestamp
  /// The languages that the user prefers, as tags such as `de-AT`, the best first: the user default
  /// `language` that the user has set, then those of `Accept-Language`, then the registered default.
  /// They stay the same while the screen is open.
  public let languages: [String]
  private let reported: @Sendable (any Error, _ part: String) -> Void

  /// A context for a test. `report` gets the errors that the screen reports.
  public init(
    clock: any Clock<Duration>,
    now: @escaping @Sendable () -> Timestamp = { Timestamp(millisecondsSince1970: 0) },
    languages: [String] = [],
    report: @escaping @Sendable (any Error, _ part: String) -> Void = { _, _ in }
  ) {
    self.clock = clock
    self.now = now
    self.languages = languages
    reported = report
  }

  /// Reports an error that the operator should see. It appears in the log, in the metrics and in the
  /// inspector, like the errors that effects throw. Call it for an error that the screen shows to the
  /// user, such as one of another server, but not for a mistake of the user. `part` names the part
  /// that failed, such as `upstream`.
  public func report(_ error: any Error, in part: String) { reported(error, part) }

  /// The first of the user's languages that is in `supported`, or the first one of `supported`. A
  /// supported language also stands for its regions: `de` for `de-AT`.
  public func language(among supported: [String]) -> String {
    for language in languages {
      // A client may have saved a long text as its language.
      let tag = language.lowercased().prefix(64).prefix { $0 != "." && $0 != "@" }
        .split { $0 == "-" || $0 == "_" }.joined(separator: "-")
      let matching = supported.filter { tag == $0.lowercased() || tag.hasPrefix("\($0.lowercased())-") }
      if let best = matching.max(by: { $0.utf8.count < $1.utf8.count }) { return best }
    }
    return supported.first ?? ""
  }
}
