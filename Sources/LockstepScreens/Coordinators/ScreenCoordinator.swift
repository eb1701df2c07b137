/// A group of screens that belong together: where one enters, and which screens are behind which address. A coordinator
/// whose screens lead on is a `Coordinator` too.
package protocol ScreenCoordinator: Sendable {
  /// Where one enters.
  var start: ScreenLink { get }
  /// Its screens.
  var screens: [ScreenKind] { get }
}
