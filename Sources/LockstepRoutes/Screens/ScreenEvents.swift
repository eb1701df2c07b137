import LockstepHTTP
import LockstepThreading

/// A screen's states as server-sent events: the present one, unless the client has it, then each that is new. Who can't keep
/// up misses states, never the latest.
final class ScreenEvents: EventSource {
  /// How often a comment shows that the connection is alive.
  private static let heartbeat: Int64 = 15_000_000_000

  private struct State: Sendable {
    var told: String?
    var heartbeat: Int64
  }

  private let watch: ScreenWatcher
  private let monotonic: @Sendable () -> Int64
  private let state: LockedState<State>

  /// - Parameters:
  ///   - watch: What is watched.
  ///   - told: The cursor that the client has, if any.
  ///   - monotonic: The server's clock.
  init(_ watch: ScreenWatcher, told: String?, monotonic: @escaping @Sendable () -> Int64) {
    self.watch = watch
    self.monotonic = monotonic
    state = LockedState(State(told: told, heartbeat: monotonic() + Self.heartbeat))
  }

  var deadline: Int64 { state.withLock { $0.heartbeat } }

  func hold(_ waker: any Waker) { watch.hold(waker) }

  func release() {}

  func next(_ cause: WakeReason) -> EventPiece {
    if watch.screen.isEnded { return .end }
    let (now, shown) = (monotonic(), watch.look())
    let cursor = watch.screen.cursor(shown.number)
    return state.withLock { state in
      if state.told != cursor {
        state.told = cursor
        state.heartbeat = now + Self.heartbeat
        // The document has no line breaks: JSON writes them as \n.
        let data = watch.screen.document(shown)
        return .bytes(Array("event: state\nid: \(cursor)\ndata: ".utf8) + data + Array("\n\n".utf8))
      }
      guard now >= state.heartbeat else { return .nothing }
      state.heartbeat = now + Self.heartbeat
      return .bytes(Array(": alive\n\n".utf8))
    }
  }
}
