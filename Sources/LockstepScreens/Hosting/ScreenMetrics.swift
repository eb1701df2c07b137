/// What is measured of screens.
package struct ScreenMetrics: Sendable {
  package let open: Int
  /// By their kinds.
  package let opened: [String: Int]
  package let ended: [ScreenEnd: Int]
}
