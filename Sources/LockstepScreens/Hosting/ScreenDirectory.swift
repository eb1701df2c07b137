import LockstepAccounts
import LockstepCollections
import LockstepJSON
import LockstepStore
import LockstepSync
import LockstepThreading

/// The screens that are open.
///
/// A screen ends a quarter of an hour after its last request, with its session, or with the server. It costs no timer: its
/// deadline is looked at once it may have come, and only then.
package final class ScreenDirectory: Sendable {
  /// How long a screen lives after its last request, in nanoseconds: 15 minutes.
  static let lifetime: Int64 = 15 * 60 * 1_000_000_000

  /// After how long without a request a screen of nobody's makes room for another, in nanoseconds, and how often that is looked for.
  private static let unused: Int64 = 60 * 1_000_000_000
  private static let lookInterval: Int64 = 1_000_000_000

  private struct Contents: Sendable {
    var screens: [String: Screen] = [:]
    var bySession: [SessionID: Set<String>] = [:]
    /// How many belong to nobody.
    var anonymous = 0
    /// When to look again for those that make room.
    var nextLook: Int64 = 0
    var expiry = ExpiryWheel()
    /// How many were opened, by their kinds.
    var opened: [String: Int] = [:]
    /// How many have ended, by why.
    var ended: [ScreenEnd: Int] = [:]
  }

  /// Who waits for a screen's state.
  package let room: WaiterRegistry<String>
  /// What was answered to those who may ask again.
  package let answers = ScreenIdempotency()
  private let limits: ScreenLimits
  private let random: @Sendable () -> UInt64
  private let monotonic: @Sendable () -> Int64
  private let contents = LockedState(Contents())
  private let tasks = TaskScope(branches: 256)

  /// - Parameters:
  ///   - limits: How many there may be.
  ///   - waiting: How many may wait for them.
  ///   - random: Random bits that nobody can foretell.
  ///   - monotonic: The server's clock, in nanoseconds.
  package init(
    limits: ScreenLimits,
    waiting: WaitingLimits,
    random: @escaping @Sendable () -> UInt64,
    monotonic: @escaping @Sendable () -> Int64
  ) {
    self.limits = limits
    self.random = random
    self.monotonic = monotonic
    room = WaiterRegistry(waiting)
  }

  /// How many are open.
  var count: Int { contents.withLock { $0.screens.count } }

  /// What there is to measure of them now.
  package var metrics: ScreenMetrics {
    contents.withLock { ScreenMetrics(open: $0.screens.count, opened: $0.opened, ended: $0.ended) }
  }

  /// Opens a screen, which runs from then on.
  ///
  /// - Throws: `TooManyScreensError`, `SessionEndedError`, and what refuses to make it.
  package func open(_ kind: ScreenKind, for session: LiveSession?, arguments: JSON) async throws -> Screen {
    endExpired()
    if session == nil { makeRoomForAnybody() }
    let id = word() + word()
    let engine = try await kind.engine(for: session, arguments: arguments) { [room] in room.wake(id) }
    let now = monotonic()
    let screen = Screen(id: id, tag: word(), kind: kind.name, session: session, engine: engine, now: now)
    do {
      try contents.withLock { contents throws(TooManyScreensError) in try Self.insert(screen, limits, &contents) }
      try tasks.start { await engine.run() }
    } catch {
      end(screen, .server)
      throw error
    }
    // Looked at after it can be found: whoever ends the session ends what can be found.
    if session?.isEnded ?? false {
      end(screen, .session)
      throw SessionEndedError()
    }
    return screen
  }

  /// A screen of a kind and of a session; nil where there is none, also where it's another's or has ended. Its time begins
  /// anew.
  package func find(_ id: String, kind: String, of session: LiveSession?) -> Screen? {
    endExpired()
    guard let screen = contents.withLock({ $0.screens[id] }), screen.kind == kind, !screen.isEnded,
      screen.session?.id == session?.id
    else { return nil }
    let now = monotonic()
    guard screen.deadline > now else { return nil }
    screen.use(at: now)
    return screen
  }

  /// Ends a screen; those who wait for it are told.
  package func end(_ screen: Screen, _ reason: ScreenEnd) {
    screen.end()
    contents.withLock { Self.remove(screen, reason, &$0) }
    if screen.session == nil { answers.forget(.screen(screen.id)) }
    room.wake(screen.id)
  }

  /// Ends the screens of sessions that have ended.
  package func end(sessions: [SessionID]) {
    let screens = contents.withLock { contents in
      sessions.flatMap { contents.bySession[$0] ?? [] }.compactMap { contents.screens[$0] }
    }
    for screen in screens { end(screen, .session) }
  }

  /// Ends those whose time is over.
  func endExpired() {
    let now = monotonic()
    let expired = contents.withLock { contents -> [Screen] in
      var expired: [Screen] = []
      for id in contents.expiry.takeDue(at: now) {
        guard let screen = contents.screens[id] else { continue }
        let deadline = screen.deadline
        if deadline > now {
          contents.expiry.schedule(id, at: min(deadline, now + Self.lifetime))
        } else {
          expired.append(screen)
        }
      }
      return expired
    }
    for screen in expired { end(screen, .idle) }
  }

  /// Ends those that belong to nobody and that nobody has asked for in a minute, where there are as many as there may be: whoever opens all
  /// there are keeps nobody else out unless they also use them all the time.
  private func makeRoomForAnybody() {
    let now = monotonic()
    let unused = contents.withLock { contents -> [Screen] in
      // Looking through all of them isn't for each that is refused.
      guard contents.anonymous >= limits.anonymous, now >= contents.nextLook else { return [] }
      contents.nextLook = now + Self.lookInterval
      return contents.screens.values.filter { $0.session == nil && $0.deadline <= now + Self.lifetime - Self.unused }
    }
    for screen in unused { end(screen, .idle) }
  }

  /// Looks after what nobody asks for any more, every minute of this clock, until it's shut down.
  package func lookAfter(by clock: any Clock<Duration>) throws(TaskScope.ShutDown) {
    try tasks.start { [weak self] in
      while (try? await clock.sleep(for: .seconds(60))) != nil {
        guard let self else { return }
        endExpired()
        answers.forget(before: monotonic() - Self.lifetime)
      }
    }
  }

  /// Ends all of them. Blocks until the last has ended.
  package func shutDown() {
    for screen in contents.withLock({ Array($0.screens.values) }) { end(screen, .server) }
    tasks.shutDown()
  }

  private func word() -> String {
    let word = random()
    return hexadecimal((0..<8).map { UInt8(truncatingIfNeeded: word >> ($0 * 8)) })
  }

  // MARK: Under the lock

  private static func insert(_ screen: Screen, _ limits: ScreenLimits, _ contents: inout Contents)
    throws(TooManyScreensError)
  {
    guard contents.screens.count < limits.inAll else { throw .inAll }
    if let session = screen.session {
      guard contents.bySession[session.id]?.count ?? 0 < limits.perSession else { throw .ofSession }
      contents.bySession[session.id, default: []].insert(screen.id)
    } else {
      guard contents.anonymous < limits.anonymous else { throw .anonymous }
      contents.anonymous += 1
    }
    contents.screens[screen.id] = screen
    contents.expiry.schedule(screen.id, at: screen.deadline)
    contents.opened[screen.kind, default: 0] += 1
  }

  private static func remove(_ screen: Screen, _ reason: ScreenEnd, _ contents: inout Contents) {
    guard contents.screens.removeValue(forKey: screen.id) != nil else { return }
    contents.ended[reason, default: 0] += 1
    guard let session = screen.session else {
      contents.anonymous -= 1
      return
    }
    contents.bySession[session.id]?.remove(screen.id)
    if contents.bySession[session.id]?.isEmpty == true { contents.bySession[session.id] = nil }
  }
}

/// Why a screen has ended.
package enum ScreenEnd: String, Sendable, CaseIterable {
  /// Somebody has closed it.
  case closed
  /// Nobody has asked for it for as long as one lives.
  case idle
  /// Its session has ended.
  case session
  /// The server stops.
  case server
}

/// There are as many screens as may be.
package enum TooManyScreensError: Error, Equatable {
  case ofSession
  case anonymous
  case inAll
}

/// Deadlines by the minute. A deadline that is moved to a later time is moved without a word to the wheel: its key comes
/// up, and is put in again.
struct ExpiryWheel: Sendable {
  private static let slot: Int64 = 60 * 1_000_000_000

  private var keys: [Int64: [String]] = [:]
  /// The first slot that has any.
  private var first = Int64.max

  /// Has a key come up within a minute after a deadline.
  mutating func schedule(_ key: String, at deadline: Int64) {
    let slot = deadline / Self.slot + 1
    keys[slot, default: []].append(key)
    first = min(first, slot)
  }

  /// The keys that come up.
  mutating func takeDue(at now: Int64) -> [String] {
    let last = now / Self.slot
    guard first <= last else { return [] }
    // No more slots than a screen's life has minutes.
    let due = keys.keys.filter { $0 <= last }.sorted()
    defer { first = keys.keys.min() ?? .max }
    return due.flatMap { keys.removeValue(forKey: $0) ?? [] }
  }
}
