import LockstepHTTP
import LockstepRoutes
import LockstepStore
import LockstepSync
import LockstepThreading

/// The journal of all users as server-sent events, one for each entry. A slow client gets all
/// entries, because they are read from the store when the client has taken the ones before.
final class JournalEvents: EventSource {
  typealias Reading = @Sendable (StoreJournal.Place) async throws -> StoreJournalPage

  private struct State {
    /// Whether the client must first learn that the journal begins again.
    var isReset: Bool
    /// The page to send next.
    var page: StoreJournalPage?
    var end: StoreJournal.Place
    /// The place that the client has.
    var sent: StoreJournal.Place?
    /// Whether the journal has entries after `end`.
    var hasMore: Bool
    var heartbeat: Int64
    var waker: NotingWaker?
    var reading: Task<Void, Never>?
    var hasFailed = false
  }

  private let state: LockedState<State>
  private let watcher: CommitWatcher
  private let store: String
  private let monotonic: @Sendable () -> Int64
  private let read: Reading

  init(
    _ first: StoreJournalPage,
    isReset: Bool,
    watcher: CommitWatcher,
    store: String,
    monotonic: @escaping @Sendable () -> Int64,
    read: @escaping Reading
  ) {
    let heartbeat = monotonic() + EventPiece.heartbeat
    state = LockedState(
      State(isReset: isReset, page: first, end: first.end, hasMore: first.isPart, heartbeat: heartbeat)
    )
    self.watcher = watcher
    self.store = store
    self.monotonic = monotonic
    self.read = read
  }

  var deadline: Int64 { state.withLock { $0.heartbeat } }

  func park(_ waker: any Waker) {
    let waker = NotingWaker(waker)
    state.withLock { $0.waker = waker }
    watcher.park(waker)
  }

  func unpark() { state.withLock { $0.reading }?.cancel() }

  func next(_ cause: WakeReason) -> EventPiece {
    let now = monotonic()
    // Without a lease, the node does not know whether the token still exists.
    guard watcher.holdsLease else { return state.withLock { .comment(at: now, &$0.heartbeat) } }
    if watcher.agent.isEnded { return .end }
    return state.withLock { state in
      if state.hasFailed { return .end }
      if state.isReset {
        state.isReset = false
        let beginning = StoreJournal.Place.beginning.text(in: store)
        return .event("reset", id: beginning, Array(#"{"cursor":"\#(beginning)"}"#.utf8))
      }
      if let page = state.page.take(), let piece = events(of: page, &state) {
        state.heartbeat = now + EventPiece.heartbeat
        return piece
      }
      if state.reading == nil, state.hasMore || watcher.take() {
        state.hasMore = false
        state.reading = Task { [end = state.end] in await self.take { try await self.read(end) } }
      }
      guard now >= state.heartbeat else { return .nothing }
      state.heartbeat = now + EventPiece.heartbeat
      // Without new entries, the client gets the cursor of now, so that it resumes from there.
      let progress = state.sent == state.end ? "" : "id: \(state.end.text(in: store))\n"
      state.sent = state.end
      return .bytes(Array(": alive\n\(progress)\n".utf8))
    }
  }

  private func events(of page: StoreJournalPage, _ state: inout State) -> EventPiece? {
    var bytes: [UInt8] = []
    for entry in page.entries {
      guard case .bytes(let event) = EventPiece.event("entry", id: entry.place.text(in: store), entry.text) else {
        continue
      }
      bytes += event
    }
    guard let last = page.entries.last else { return nil }
    state.sent = last.place
    return .bytes(bytes)
  }

  /// Reads a page outside the event loop, then wakes the connection.
  private func take(_ read: @Sendable () async throws -> StoreJournalPage) async {
    let page = try? await read()
    let waker = state.withLock { state in
      state.reading = nil
      if let page {
        state.page = page
        state.end = page.end
        state.hasMore = page.isPart
      } else {
        state.hasFailed = true
      }
      return state.waker
    }
    waker?.wakeOnly()
  }
}
