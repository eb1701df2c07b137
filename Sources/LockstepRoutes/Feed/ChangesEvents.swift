import LockstepAccounts
import LockstepCollections
import LockstepHTTP
import LockstepSync
import LockstepThreading
import Synchronization

/// The feed as server-sent events. Each event has the changes between the previous event's cursor
/// and its own.
package final class ChangesEvents: EventSource {
  package static var response: Response {
    var fields = HeaderFields()
    fields.append(.contentType, "text/event-stream")
    fields.append(contentsOf: .forBrowsers)
    fields.append(.cacheControl, "no-store")
    fields.append(.vary, "Authorization, Prefer, Accept")
    return Response(status: .ok, fields: fields)
  }

  private struct State {
    var first: ChangesFeed.Document?
    var cursor: Cursor
    /// The cursor that the client has. From it to `cursor`, nothing has changed for the client.
    var sent: Cursor
    var heartbeat: Int64
    var waker: NotingWaker?
    /// Makes the next document outside the event loop.
    var making: Task<Void, Never>?
    var made: Result<ChangesFeed.Document, any Error>?
  }

  private let state: LockedState<State>
  private let watch: StateWatcher
  private let monotonic: @Sendable () -> Int64
  private let changes: Changes

  typealias Making = @Sendable () async throws -> ChangesFeed.Document

  enum Next: Sendable {
    case document(ChangesFeed.Document)
    /// Making the document takes long.
    case later(Making)
  }

  /// Returns the changes after `since`. `sent` is the cursor that the client has. Nothing that the
  /// client follows has changed from `sent` to `since`.
  typealias Changes = @Sendable (_ since: Cursor, _ sent: Cursor, CachedState, RegisteredDefaults) throws -> Next

  init(
    first: ChangesFeed.Document,
    watch: StateWatcher,
    monotonic: @escaping @Sendable () -> Int64,
    changes: @escaping Changes
  ) {
    let heartbeat = monotonic() + EventPiece.heartbeat
    state = LockedState(State(first: first, cursor: first.cursor, sent: first.cursor, heartbeat: heartbeat))
    self.watch = watch
    self.monotonic = monotonic
    self.changes = changes
  }

  package var deadline: Int64 { state.withLock { $0.heartbeat } }

  package func park(_ waker: any Waker) {
    let waker = NotingWaker(waker)
    state.withLock { $0.waker = waker }
    watch.park(waker)
  }

  package func unpark() { state.withLock { $0.making }?.cancel() }

  package func next(_ cause: WakeReason) -> EventPiece {
    let now = monotonic()
    guard watch.holdsLease else { return state.withLock { .comment(at: now, &$0.heartbeat) } }
    if watch.session.isEnded { return .end }
    return state.withLock { state in
      if let first = state.first {
        state.first = nil
        // Sent even if it is empty, because the client can resume from the document's cursor.
        return Self.event(first)
      }
      if let made = state.made.take() {
        guard case .success(let document) = made else { return .end }
        if let event = Self.take(document, &state, now) { return event }
      }
      guard state.making == nil else { return Self.heartbeat(&state, now, watch.session) }
      // Taken before the state is read, so that a later notification is not lost.
      let isNotified = state.waker?.takeNotification() ?? false
      if let (cached, registered) = watch.cached {
        switch try? changes(state.cursor, state.sent, cached, registered) {
        case .document(let document): if let event = Self.take(document, &state, now) { return event }
        case .later(let make): state.making = Task { await self.take(make) }
        case nil: return .end
        }
      } else if isNotified {
        // The state is not in memory. The registered defaults changed, or the state was evicted.
        state.making = Task { [watch, changes, cursor = state.cursor, sent = state.sent] in
          await self.take {
            let (cached, registered) = try await watch.load()
            switch try changes(cursor, sent, cached, registered) {
            case .document(let document): return document
            case .later(let make): return try await make()
            }
          }
        }
      }
      return Self.heartbeat(&state, now, watch.session)
    }
  }

  /// Remembers a document's cursor. Returns the document's event, or `nil` if the document is
  /// empty.
  private static func take(_ document: ChangesFeed.Document, _ state: inout State, _ now: Int64) -> EventPiece? {
    state.cursor = document.cursor
    guard !document.isEmpty else { return nil }
    state.sent = document.cursor
    state.heartbeat = now + EventPiece.heartbeat
    return event(document)
  }

  /// Makes a document outside the event loop, then wakes the connection.
  private func take(_ make: Making) async {
    let made: Result<ChangesFeed.Document, any Error>
    do { made = .success(try await make()) } catch { made = .failure(error) }
    let waker = state.withLock { state in
      state.made = made
      state.making = nil
      return state.waker
    }
    waker?.wakeOnly()
  }

  private static func heartbeat(_ state: inout State, _ now: Int64, _ session: LiveSession) -> EventPiece {
    guard now >= state.heartbeat else { return .nothing }
    state.heartbeat = now + EventPiece.heartbeat
    // Changes of collections that the client does not follow move the cursor too. The client gets
    // the new cursor, so that it can resume from there.
    // The next event has the keys of the session's own writes since the last one, if there are any.
    let keys = session.keys(after: state.sent.revision, upTo: state.cursor.revision)
    let isProgress = state.cursor != state.sent && keys?.isEmpty ?? false
    let progress = isProgress ? "id: \(state.cursor.text)\n" : ""
    if isProgress { state.sent = state.cursor }
    return .bytes(Array(": alive\n\(progress)\n".utf8))
  }

  private static func event(_ document: ChangesFeed.Document) -> EventPiece {
    .event("changes", id: document.cursor.text, document.body)
  }
}

extension EventPiece {
  /// The interval of comments that keep a quiet connection alive, in nanoseconds.
  package static let heartbeat: Int64 = 15_000_000_000

  /// The comment of a quiet connection, if it is time for one. Nothing else may be sent without a lease.
  package static func comment(at now: Int64, _ next: inout Int64) -> EventPiece {
    guard now >= next else { return .nothing }
    next = now + heartbeat
    return .bytes(Array(": alive\n\n".utf8))
  }

  /// An event. `data` is JSON, which escapes line breaks.
  package static func event(_ name: String, id: String, _ data: [UInt8]) -> EventPiece {
    .bytes(Array("event: \(name)\nid: \(id)\ndata: ".utf8) + data + Array("\n\n".utf8))
  }
}
