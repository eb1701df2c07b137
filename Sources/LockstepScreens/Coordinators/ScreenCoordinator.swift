/// A group of related screens. A coordinator whose screens lead to others is a `Coordinator` too.
package protocol ScreenCoordinator: Sendable {
  /// The screen that a client opens first.
  var start: ScreenLink { get }
  var screens: [ScreenKind] { get }
}
