/// The numbers of screens at `/metrics`.
package struct ScreenMetrics: Sendable {
  package let open: Int
  /// By kind.
  package let opened: [String: Int]
  /// By kind.
  package let failures: [String: Int]
  package let ended: [ScreenEnd: Int]
}
