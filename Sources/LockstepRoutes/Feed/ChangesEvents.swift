import LockstepCollections
import LockstepHTTP
import LockstepSync
import LockstepThreading
import Synchronization

/// The changes feed as server-sent events: each commit's changes follow from those before, by the cursor that was sent.
final class ChangesEvents: EventSource {
  /// How often a comment shows that the connection is alive.
  private static let heartbeat: Int64 = 15_000_000_000

  /// What comes before the first event.
  static var response: Response {
    var fields = HeaderFields()
    fields.append(.contentType, "text/event-stream")
    fields.append(contentsOf: .forBrowsers)
    fields.append(.cacheControl, "no-store")
    fields.append(.vary, "Authorization, Prefer, Accept")
    return Response(status: .ok, fields: fields)
  }

  private struct State {
    var first: ChangesFeed.Document?
    /// How far it has looked.
    var cursor: Cursor
    /// The cursor of the last event. What happened since to other collections than those asked for was not told.
    var told: Cursor
    var heartbeat: Int64
    var bell: Bell?
    /// What is being made of the next event, off the loop.
    var making: Task<Void, Never>?
    /// What has been made of it.
    var made: Result<ChangesFeed.Document, any Error>?
  }

  /// Notes that something was announced before it brings the connection back.
  private final class Bell: Waker {
    private let waker: any Waker
    private let hasRung = Atomic(false)

    init(_ waker: any Waker) {
      self.waker = waker
    }

    func wake() {
      hasRung.store(true, ordering: .releasing)
      waker.wake()
    }

    func join(_ wakings: inout WakeBatch) {
      hasRung.store(true, ordering: .releasing)
      waker.join(&wakings)
    }

    /// Brings the connection back, where nothing was announced.
    func wakeOnly() { waker.wake() }

    /// Whether it rang since this was asked last.
    func takeRing() -> Bool { hasRung.exchange(false, ordering: .acquiringAndReleasing) }
  }

  private let state: LockedState<State>
  private let watch: StateWatcher
  private let monotonic: @Sendable () -> Int64
  private let changes: Changes

  /// What there is to tell.
  enum Next: Sendable {
    case document(ChangesFeed.Document)
    /// It takes long to make.
    case later(@Sendable () async throws -> ChangesFeed.Document)
  }

  /// What happened since a cursor, told as what happened since another one.
  typealias Changes = @Sendable (_ since: Cursor, _ told: Cursor, CachedState, RegisteredDefaults) throws -> Next
  private typealias Making = @Sendable () async throws -> ChangesFeed.Document

  /// - Parameters:
  ///   - first: The first event.
  ///   - watch: What is watched.
  ///   - monotonic: The server's clock.
  ///   - changes: What happened.
  init(
    first: ChangesFeed.Document,
    watch: StateWatcher,
    monotonic: @escaping @Sendable () -> Int64,
    changes: @escaping Changes
  ) {
    let heartbeat = monotonic() + Self.heartbeat
    state = LockedState(State(first: first, cursor: first.cursor, told: first.cursor, heartbeat: heartbeat))
    self.watch = watch
    self.monotonic = monotonic
    self.changes = changes
  }

  var deadline: Int64 { state.withLock { $0.heartbeat } }

  func hold(_ waker: any Waker) {
    let bell = Bell(waker)
    state.withLock { $0.bell = bell }
    watch.hold(bell)
  }

  func release() { state.withLock { $0.making }?.cancel() }

  func next(_ cause: WakeReason) -> EventPiece {
    if watch.session.isEnded { return .end }
    let now = monotonic()
    return state.withLock { state in
      if let first = state.first {
        state.first = nil
        // With nothing to tell, the cursor is told: from now on nothing is missed.
        return Self.event(first)
      }
      if let made = state.made.take() {
        guard case .success(let document) = made else { return .end }
        if let event = Self.take(document, &state, now) { return event }
      }
      guard state.making == nil else { return Self.heartbeat(&state, now) }
      // Before the look: what is announced later rings again.
      let hasRung = state.bell?.takeRing() ?? false
      if let (hot, registered) = watch.glance() {
        switch try? changes(state.cursor, state.told, hot, registered) {
        case .document(let document): if let event = Self.take(document, &state, now) { return event }
        case .later(let make): state.making = Task { await self.take(make) }
        case nil: return .end
        }
      } else if hasRung {
        // What was announced isn't in memory: it was evicted since, or concerns everybody.
        let make = loading(since: state.cursor, told: state.told)
        state.making = Task { await self.take(make) }
      }
      return Self.heartbeat(&state, now)
    }
  }

  /// What happened, once the user's state is in memory again.
  private func loading(since cursor: Cursor, told: Cursor) -> Making {
    let (watch, changes) = (watch, changes)
    return {
      let (hot, registered) = try await watch.load()
      switch try changes(cursor, told, hot, registered) {
      case .document(let document): return document
      case .later(let make): return try await make()
      }
    }
  }

  /// Goes on from a document; gives the event, where there is anything in it.
  private static func take(_ document: ChangesFeed.Document, _ state: inout State, _ now: Int64) -> EventPiece? {
    state.cursor = document.cursor
    guard !document.isEmpty else { return nil }
    state.told = document.cursor
    state.heartbeat = now + Self.heartbeat
    return event(document)
  }

  /// Waits until a document is made, off the loop, and brings the connection back for it.
  private func take(_ make: Making) async {
    let made: Result<ChangesFeed.Document, any Error>
    do { made = .success(try await make()) } catch { made = .failure(error) }
    let bell = state.withLock { state in
      state.made = made
      state.making = nil
      return state.bell
    }
    bell?.wakeOnly()
  }

  private static func heartbeat(_ state: inout State, _ now: Int64) -> EventPiece {
    guard now >= state.heartbeat else { return .nothing }
    state.heartbeat = now + Self.heartbeat
    // What didn't concern the client moves its cursor on too, so that it can be gone on from later.
    let progress = state.cursor == state.told ? "" : "id: \(state.cursor.text)\n"
    state.told = state.cursor
    return .bytes(Array(": alive\n\(progress)\n".utf8))
  }

  private static func event(_ document: ChangesFeed.Document) -> EventPiece {
    // The document has no line breaks: JSON writes them as \n.
    .bytes(Array("event: changes\nid: \(document.cursor.text)\ndata: ".utf8) + document.body + Array("\n\n".utf8))
  }
}
