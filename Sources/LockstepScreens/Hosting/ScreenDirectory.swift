import LockstepAccounts
import LockstepCollections
import LockstepJSON
import LockstepLogging
import LockstepStore
import LockstepSync
import LockstepThreading

/// The open screens.
///
/// A screen ends 15 minutes after its last request, when its session ends, or when the server shuts
/// down. Screens need no timers, because the directory searches for expired screens once a minute.
package final class ScreenDirectory: Sendable {
  /// How long a screen lives after its last request, in nanoseconds: 15 minutes.
  static let lifetime: Int64 = 15 * 60 * 1_000_000_000

  /// An anonymous screen without a request for this long may be evicted, in nanoseconds.
  private static let evictableAfter: Int64 = 60 * 1_000_000_000
  /// The shortest times between two searches, in nanoseconds. A search visits every screen.
  private static let expiryInterval: Int64 = 60 * 1_000_000_000
  private static let evictionInterval: Int64 = 1_000_000_000

  /// The shortest time between two log lines about failures of the same part, in nanoseconds.
  private static let reportInterval: Int64 = 60 * 1_000_000_000
  /// The most parts whose failures are logged.
  private static let mostParts = 256

  private struct FailedPart: Hashable {
    let screen: ExactText
    let origin: ExactText
  }

  private struct FailureReports {
    var next = Int64.min
    var suppressed = 0
  }

  private struct Contents: Sendable {
    var reports: [FailedPart: FailureReports] = [:]
    var screens: [ExactText: Screen] = [:]
    var bySession: [SessionID: Set<ExactText>] = [:]
    var byOwner: [ScreenOwner: Int] = [:]
    var metrics = ScreenMetrics()
    var anonymous = 0
    var nextExpiry: Int64 = 0
    var nextEviction: Int64 = 0

    /// Whether an owner has one more place of `limit` places. An owner gets at most half of what the
    /// others leave, so that no user and no network takes all places.
    func hasPlace(for owner: ScreenOwner, taken: Int, of limit: Int) -> Bool {
      byOwner[owner, default: 0] < limit - taken
    }

    mutating func insert(_ screen: Screen, _ limits: ScreenLimits) throws(TooManyScreensError) {
      guard screens.count < limits.inAll else { throw .inAll }
      if let session = screen.session {
        guard bySession[session.id]?.count ?? 0 < limits.perSession else { throw .ofSession }
        guard hasPlace(for: screen.owner, taken: screens.count, of: limits.inAll) else { throw .ofSession }
        bySession[session.id, default: []].insert(screen.id.exact)
      } else {
        guard hasPlace(for: screen.owner, taken: anonymous, of: limits.anonymous) else { throw .anonymous }
        anonymous += 1
      }
      screens[screen.id.exact] = screen
      byOwner[screen.owner, default: 0] += 1
      metrics.open += 1
      metrics.opened[screen.kind.exact, default: 0] += 1
    }

    mutating func remove(_ screen: Screen, _ reason: ScreenEnd) {
      guard screens.removeValue(forKey: screen.id.exact) != nil else { return }
      let rest = byOwner[screen.owner, default: 1] - 1
      byOwner[screen.owner] = rest == 0 ? nil : rest
      metrics.open -= 1
      metrics.ended[reason, default: 0] += 1
      guard let session = screen.session else {
        anonymous -= 1
        return
      }
      bySession[session.id]?.remove(screen.id.exact)
      if bySession[session.id]?.isEmpty == true { bySession[session.id] = nil }
    }
  }

  /// The requests that wait, by the screen's id.
  package let waiters: WaiterRegistry<ExactText>
  package let responses = ScreenIdempotency()
  private let environment: ScreenEnvironment
  private let limits: ScreenLimits
  /// Nil: there are no other nodes.
  private let node: ScreenNode?
  private let random: @Sendable () -> UInt64
  private let monotonic: @Sendable () -> Int64
  private let logger: Logger
  private let contents = LockedState(Contents())
  private let tasks: TaskScope

  /// `random` must be unpredictable. `monotonic` is the server's clock, in nanoseconds.
  package init(
    environment: ScreenEnvironment,
    limits: ScreenLimits,
    waiting: WaitingLimits,
    node: ScreenNode? = nil,
    random: @escaping @Sendable () -> UInt64,
    monotonic: @escaping @Sendable () -> Int64,
    logger: Logger,
    executor: (any TaskExecutor)? = nil
  ) {
    self.environment = environment
    tasks = TaskScope(branches: 256, executor: executor)
    self.limits = limits
    self.node = node
    self.random = random
    self.monotonic = monotonic
    self.logger = logger
    waiters = WaiterRegistry(waiting)
  }

  package var metrics: ScreenMetrics { contents.withLock { $0.metrics } }

  /// - Throws: `TooManyScreensError`, `SessionEndedError`, and the errors of
  ///   `ScreenDeclaration.makeEngine`.
  package func open(_ kind: ScreenDeclaration, _ opening: ScreenOpening) async throws -> Screen {
    let session = opening.session
    endExpired()
    if session == nil { evictAnonymous(of: ScreenOwner(opening)) }
    let id = ofNode(word() + word())
    let engine = try await kind.makeEngine(opening, environment, observer(of: id, kind))
    let now = monotonic()
    let screen = Screen(id: id, tag: ofNode(word()), kind: kind.name, opening, engine: engine, now: now)
    do {
      try contents.withLock { contents throws(TooManyScreensError) in try contents.insert(screen, limits) }
      try tasks.start { await engine.run() }
    } catch {
      end(screen, .server)
      throw error
    }
    // If the session ends later than this check, `sessionsEnded` finds the screen.
    if session?.isEnded ?? false {
      end(screen, .session)
      throw SessionEndedError()
    }
    return screen
  }

  private func observer(of id: String, _ kind: ScreenDeclaration) -> ScreenObserver {
    ScreenObserver(
      changed: { [waiters] in waiters.wake(id.exact) },
      failed: { [weak self] failure in
        self?.record(failure, of: kind)
        self?.waiters.wake(id.exact)
      }
    )
  }

  /// Counts every failure. Logs those of each part of each kind of screen at most once a minute,
  /// because a part such as an upstream may fail for many screens.
  private func record(_ failure: ScreenFailure, of kind: ScreenDeclaration) {
    let now = monotonic()
    let suppressed = contents.withLock { contents -> Int? in
      contents.metrics.failures[kind.name.exact, default: 0] += 1
      let part = FailedPart(screen: kind.name.exact, origin: failure.origin.exact)
      let reports = contents.reports[part] ?? (contents.reports.count < Self.mostParts ? FailureReports() : nil)
      guard var reports else { return nil }
      defer { contents.reports[part] = reports }
      guard now >= reports.next else {
        reports.suppressed += 1
        return nil
      }
      defer { reports = FailureReports(next: now + Self.reportInterval) }
      return reports.suppressed
    }
    guard let suppressed else { return }
    logger.log(
      .warning,
      "a screen had a failure",
      [
        "screen": .string(kind.name), "origin": .string(failure.origin), "error": .string(failure.message),
        "failuresNotLogged": .integer(Int64(suppressed)),
      ]
    )
  }

  /// All open screens, oldest first. Does not postpone their deadlines.
  package var open: [Screen] {
    endExpired()
    return contents.withLock { Array($0.screens.values) }.filter { !$0.isEnded }.sorted { $0.opened < $1.opened }
  }

  /// Finds an open screen by its tag. Unlike the id, the tag gives no right to use the screen. Does
  /// not postpone its deadline.
  package func find(tag: String) -> Screen? { open.first { $0.tag.hasSameBytes(as: tag) } }

  /// Finds an open screen of this kind and session, and postpones its deadline.
  package func find(_ id: String, kind: String, of session: LiveSession?) -> Screen? {
    endExpired()
    guard let screen = contents.withLock({ $0.screens[id.exact] }), screen.kind.hasSameBytes(as: kind), !screen.isEnded,
      screen.session?.id == session?.id
    else { return nil }
    let now = monotonic()
    guard screen.deadline > now else { return nil }
    screen.use(at: now)
    return screen
  }

  /// Ends a screen and notifies its waiters.
  package func end(_ screen: Screen, _ reason: ScreenEnd) {
    screen.end()
    contents.withLock { $0.remove(screen, reason) }
    if screen.session == nil { responses.forget(.screen(screen.id.exact)) }
    waiters.wake(screen.id.exact)
  }

  private func end(sessions: [SessionID]) {
    let screens = contents.withLock { contents in
      sessions.flatMap { contents.bySession[$0] ?? [] }.compactMap { contents.screens[$0] }
    }
    for screen in screens { end(screen, .session) }
  }

  private func endExpired() {
    let now = monotonic()
    let expired = contents.withLock { contents -> [Screen] in
      guard now >= contents.nextExpiry else { return [] }
      contents.nextExpiry = now + Self.expiryInterval
      return contents.screens.values.filter { $0.deadline <= now }
    }
    for screen in expired { end(screen, .idle) }
  }

  /// Ends idle anonymous screens when all anonymous places are taken, or those of a network when its
  /// share is taken. So clients that take all places keep other clients out only as long as they use
  /// all their screens.
  private func evictAnonymous(of owner: ScreenOwner) {
    let now = monotonic()
    let idle = contents.withLock { contents -> [Screen] in
      let isFull = contents.anonymous >= limits.anonymous
      guard isFull || !contents.hasPlace(for: owner, taken: contents.anonymous, of: limits.anonymous),
        now >= contents.nextEviction
      else { return [] }
      contents.nextEviction = now + Self.evictionInterval
      let latestDeadline = now + Self.lifetime - Self.evictableAfter
      return contents.screens.values.filter {
        $0.session == nil && $0.deadline <= latestDeadline && (isFull || $0.owner == owner)
      }
    }
    for screen in idle { end(screen, .idle) }
  }

  /// Ends expired screens and drops old responses every minute, until the server shuts down.
  package func startExpiry(by clock: any Clock<Duration>) throws(TaskScope.ShutDownError) {
    try tasks.start { [weak self] in
      while (try? await clock.sleep(for: .seconds(60))) != nil {
        guard let self else { return }
        endExpired()
        responses.forget(before: monotonic() - Self.lifetime)
      }
    }
  }

  /// Ends all screens, and accepts no more.
  package func close() {
    for screen in contents.withLock({ Array($0.screens.values) }) { end(screen, .server) }
    tasks.cancel()
  }

  /// Whether all screens have ended, after `close()`.
  package var isIdle: Bool { tasks.isIdle }

  /// Ends all screens. Blocks until the last screen has ended.
  package func shutDown() {
    close()
    tasks.shutDown()
  }

  /// An id that names this node, if there are others.
  private func ofNode(_ random: String) -> String { node?.id(random) ?? random }

  private func word() -> String {
    let word = random()
    return hexadecimal((0..<8).map { UInt8(truncatingIfNeeded: word >> ($0 * 8)) })
  }
}

/// Why a screen has ended.
package enum ScreenEnd: String, Sendable, CaseIterable {
  /// A client closed it.
  case closed
  /// It had no request for 15 minutes, or it was evicted.
  case idle
  /// Its session ended.
  case session
  /// The server shut down.
  case server
}

/// A limit on open screens is reached.
package enum TooManyScreensError: Error, Equatable {
  case ofSession
  case anonymous
  case inAll
}

package struct ScreenMetrics: Sendable {
  package fileprivate(set) var open = 0
  /// By kind.
  package fileprivate(set) var opened: [ExactText: Int] = [:]
  package fileprivate(set) var failures: [ExactText: Int] = [:]
  package fileprivate(set) var ended: [ScreenEnd: Int] = [:]
}

extension ScreenDirectory: CommitObserver {
  package func sessionsEnded(_ sessions: [SessionID], of users: Set<UserID>) { end(sessions: sessions) }
  // Requests of administrators wait for screens too.
  package func serviceTokenDeleted() { waiters.wakeAll() }
  package func everythingChanged() { waiters.wakeAll() }
}
