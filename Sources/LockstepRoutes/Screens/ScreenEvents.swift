import LockstepHTTP
import LockstepThreading

/// A screen's states as server-sent events: the current one, unless the client has it, then each
/// new one. A slow client misses states, but never the latest.
final class ScreenEvents: EventSource {
  /// The interval of comments that keep the connection alive, in nanoseconds.
  private static let heartbeat: Int64 = 15_000_000_000

  private struct State: Sendable {
    /// The cursor that the client has.
    var sent: String?
    var heartbeat: Int64
  }

  private let watcher: ScreenWatcher
  private let monotonic: @Sendable () -> Int64
  private let state: LockedState<State>

  init(_ watcher: ScreenWatcher, sent: String?, monotonic: @escaping @Sendable () -> Int64) {
    self.watcher = watcher
    self.monotonic = monotonic
    state = LockedState(State(sent: sent, heartbeat: monotonic() + Self.heartbeat))
  }

  var deadline: Int64 { state.withLock { $0.heartbeat } }

  func park(_ waker: any Waker) { watcher.park(waker) }

  func unpark() {}

  func next(_ cause: WakeReason) -> EventPiece {
    if watcher.screen.isEnded { return .end }
    let (now, shown) = (monotonic(), watcher.look())
    let cursor = watcher.screen.cursor(shown.number)
    return state.withLock { state in
      if state.sent != cursor {
        state.sent = cursor
        state.heartbeat = now + Self.heartbeat
        // The document contains no line breaks, because JSON escapes them.
        let data = watcher.screen.document(shown)
        return .bytes(Array("event: state\nid: \(cursor)\ndata: ".utf8) + data + Array("\n\n".utf8))
      }
      guard now >= state.heartbeat else { return .nothing }
      state.heartbeat = now + Self.heartbeat
      return .bytes(Array(": alive\n\n".utf8))
    }
  }
}
