import HTTP
import Workers

/// The changes feed as server-sent events: each commit's changes follow from those before, by the cursor that was sent.
final class ChangesEvents: EventSource {
  /// How often a comment shows that the connection is alive.
  private static let heartbeat: Int64 = 15_000_000_000

  /// What comes before the first event.
  static var response: Response {
    var fields = HeaderFields()
    fields.append(.contentType, "text/event-stream")
    fields.append(.cacheControl, "no-store")
    fields.append(.vary, "Authorization, Prefer, Accept")
    return Response(status: .ok, fields: fields)
  }

  private struct State {
    var first: ChangesFeed.Document?
    var cursor: Cursor
    var heartbeat: Int64
  }

  private let state: Monitor<State>
  private let watch: StateWatch
  private let monotonic: @Sendable () -> Int64
  private let changes: @Sendable (Cursor, HotState, RegisteredDefaults) throws -> ChangesFeed.Document?

  /// - Parameters:
  ///   - first: The first event.
  ///   - watch: What is watched.
  ///   - monotonic: The server's clock.
  ///   - changes: What happened since a cursor; nil where that can't be told any more.
  init(
    first: ChangesFeed.Document,
    watch: StateWatch,
    monotonic: @escaping @Sendable () -> Int64,
    changes: @escaping @Sendable (Cursor, HotState, RegisteredDefaults) throws -> ChangesFeed.Document?
  ) {
    state = Monitor(State(first: first, cursor: first.cursor, heartbeat: monotonic() + Self.heartbeat))
    self.watch = watch
    self.monotonic = monotonic
    self.changes = changes
  }

  var deadline: Int64 { state.withLock { $0.heartbeat } }

  func hold(_ waker: any Waker) { watch.hold(waker) }

  func release() {}

  func next(_ cause: WakeCause) -> EventPiece {
    if watch.session.isEnded { return .end }
    let now = monotonic()
    return state.withLock { state in
      if let first = state.first {
        state.first = nil
        // With nothing to tell, the cursor is told: from now on nothing is missed.
        return Self.event(first)
      }
      // A state that was evicted from memory since was not changed since: whoever changes it publishes it.
      if let (hot, registered) = watch.glance() {
        guard let document = try? changes(state.cursor, hot, registered) else { return .end }
        state.cursor = document.cursor
        if !document.isEmpty {
          state.heartbeat = now + Self.heartbeat
          return Self.event(document)
        }
      }
      guard now >= state.heartbeat else { return .nothing }
      state.heartbeat = now + Self.heartbeat
      return .bytes(Array(": alive\n\n".utf8))
    }
  }

  private static func event(_ document: ChangesFeed.Document) -> EventPiece {
    // The document has no line breaks: JSON writes them as \n.
    .bytes(Array("event: changes\nid: \(document.cursor.text)\ndata: ".utf8) + document.body + Array("\n\n".utf8))
  }
}
