/// The metrics of screens.
package struct ScreenMetrics: Sendable {
  package let open: Int
  /// The number of opened screens by kind.
  package let opened: [String: Int]
  /// The number of failures by kind.
  package let failures: [String: Int]
  package let ended: [ScreenEnd: Int]
}
