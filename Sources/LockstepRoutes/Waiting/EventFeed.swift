import LockstepCollections
import LockstepHTTP
import LockstepThreading

/// Gives a stream of server-sent events its events. `EventFeedStream` does the rest.
package protocol EventFeed: Sendable {
  /// A piece that the feed makes at once, and sends as one or more events.
  associatedtype Part: Sendable

  /// The events of a part, or nil if it has none.
  mutating func events(of part: Part) -> [UInt8]?

  /// Looks for the next part on the event loop, while none is being made. Nil: there is nothing new. `isNotified`
  /// tells whether there was a notification since the last call.
  mutating func next(isNotified: Bool) throws -> EventFeedStep<Part>?

  /// The cursor for the comment of a quiet connection, so that the client can resume from there. Nil: the
  /// client has it.
  mutating func progress() -> String?
}

package enum EventFeedStep<Part: Sendable>: Sendable {
  case part(Part)
  /// Making the part takes long.
  case later(@Sendable () async throws -> Part)
}

/// A stream of server-sent events: the parts of a feed one after the other, and comments in between.
///
/// The stream ends with the session of its request, and when the next part cannot be made. The client then
/// connects again with `Last-Event-ID`. A part is made when the client has taken the one before it. While a
/// part is made outside the event loop, notifications are only remembered.
package final class EventFeedStream<Feed: EventFeed>: EventSource {
  private struct State {
    var feed: Feed
    /// The part to send next.
    var made: Result<Feed.Part, any Error>?
    /// Makes the next part outside the event loop.
    var making: Task<Void, Never>?
    var heartbeat: Int64
    var waker: NotingWaker?
  }

  private let state: LockedState<State>
  private let watcher: any Watcher
  private let monotonic: @Sendable () -> Int64

  init(_ feed: Feed, first: Feed.Part?, _ watcher: any Watcher, monotonic: @escaping @Sendable () -> Int64) {
    let heartbeat = monotonic() + EventFormat.heartbeat
    state = LockedState(State(feed: feed, made: first.map { .success($0) }, heartbeat: heartbeat))
    (self.watcher, self.monotonic) = (watcher, monotonic)
  }

  package var deadline: Int64 { state.withLock { $0.heartbeat } }

  package func park(_ waker: any Waker) {
    let waker = NotingWaker(waker)
    state.withLock { $0.waker = waker }
    watcher.park(waker)
  }

  package func unpark() { state.withLock { $0.making }?.cancel() }

  package func next(_ cause: WakeReason) -> EventPiece {
    let now = monotonic()
    // Nothing but comments may be sent without a lease.
    let holdsLease = watcher.holdsLease
    if holdsLease, watcher.isEnded { return .end }
    return state.withLock { state in
      do {
        if holdsLease, let events = try events(&state) {
          state.heartbeat = now + EventFormat.heartbeat
          return .bytes(events)
        }
      } catch {
        return .end
      }
      guard now >= state.heartbeat else { return .nothing }
      state.heartbeat = now + EventFormat.heartbeat
      let progress = holdsLease ? state.feed.progress() : nil
      return .bytes(EventFormat.comment(id: progress))
    }
  }

  private func events(_ state: inout State) throws -> [UInt8]? {
    if let made = state.made.take(), let events = state.feed.events(of: try made.get()) { return events }
    guard state.making == nil else { return nil }
    // Taken before the state is read, so that a later notification is not lost.
    switch try state.feed.next(isNotified: state.waker?.takeNotification() ?? false) {
    case nil: return nil
    case .part(let part): return state.feed.events(of: part)
    case .later(let make):
      state.making = Task { await self.take(make) }
      return nil
    }
  }

  /// Makes a part outside the event loop, then wakes the connection.
  private func take(_ make: @Sendable () async throws -> Feed.Part) async {
    let made: Result<Feed.Part, any Error>
    do { made = .success(try await make()) } catch { made = .failure(error) }
    let waker = state.withLock { state in
      (state.made, state.making) = (made, nil)
      return state.waker
    }
    waker?.wakeOnly()
  }
}

/// The format of server-sent events.
package enum EventFormat {
  /// The interval of comments that keep a quiet connection alive, in nanoseconds.
  package static let heartbeat: Int64 = 15_000_000_000

  /// An event. `data` is JSON, which escapes line breaks.
  package static func event(_ name: String, id: String, _ data: [UInt8]) -> [UInt8] {
    Array("event: \(name)\nid: \(id)\ndata: ".utf8) + data + Array("\n\n".utf8)
  }

  fileprivate static func comment(id: String?) -> [UInt8] {
    Array(": alive\n\(id.map { "id: \($0)\n" } ?? "")\n".utf8)
  }
}

extension HandlerResult {
  /// A stream of the events of a feed, which begins with `first`, if that is not nil.
  package static func events<Feed: EventFeed>(
    of feed: Feed,
    first: Feed.Part? = nil,
    _ watcher: any Watcher,
    monotonic: @escaping @Sendable () -> Int64
  ) -> HandlerResult {
    var fields = HeaderFields()
    fields.append(.contentType, "text/event-stream")
    fields.append(contentsOf: .forBrowsers)
    fields.append(.cacheControl, "no-store")
    fields.append(.vary, "Authorization, Prefer, Accept")
    let stream = EventFeedStream(feed, first: first, watcher, monotonic: monotonic)
    return .eventStream(Response(status: .ok, fields: fields), stream)
  }
}

extension Request {
  /// The id of the last event that a client got before it connected again. Nil if it wants no event stream.
  package var lastEventID: String? { head.wantsEventStream ? head[.lastEventID].map(Cursor.plainTag) : nil }
}
