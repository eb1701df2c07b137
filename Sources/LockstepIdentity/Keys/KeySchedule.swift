import LockstepCryptography
import LockstepJSON

/// The keys of an issuer with the times of their use, and the rules for fetching them. Times are
/// nanoseconds of the monotonic clock.
///
/// - After four fifths of their lifetime, keys are fetched again in the background.
/// - After their lifetime, a request waits for new keys. If the issuer is down, it goes on with the
///   old ones.
/// - A token with an unknown key id makes the server fetch the keys, at most once in ten seconds.
/// - As long as there are no keys, attempts are 1, 2, 4, 8 and then 10 seconds apart.
struct KeySchedule: Sendable {
  static let second: Int64 = 1_000_000_000
  /// The least time from one fetch to the next.
  static let spacing = 10 * second
  /// The lifetime of keys if the issuer does not say it, and its bounds.
  static let usualLifetime = 3600 * second
  static let lifetimes = 600 * second...86_400 * second

  /// The keys, and their generation: a number that increases when a key is no longer valid.
  struct Current: Sendable {
    let keys: KeySet
    let generation: Int
    let refreshesAt: Int64
    let expiresAt: Int64
  }

  enum Step: Sendable {
    case use(SignatureKey, generation: Int)
    case refuse(InvalidTokenError)
    /// There are no keys.
    case unavailable(retryAfter: Int64)
    case wait
  }

  private(set) var current: Current?
  private(set) var isFetching = false
  private var failures: Int64 = 0
  private var nextAttempt = Int64.min

  /// The next step for a token at this time. With `hasWaited`, the request has waited for a fetch
  /// before.
  mutating func step(keyID: String, algorithm: SignatureAlgorithm, now: Int64, hasWaited: Bool) -> Step {
    guard let current else {
      return !hasWaited && mayWait(now) ? .wait : .unavailable(retryAfter: max(nextAttempt - now, Self.second))
    }
    guard let keys = current.keys.keys[keyID.exact] else {
      return !hasWaited && mayWait(now) ? .wait : .refuse(.unknownKey)
    }
    if !hasWaited, mustWait(now), mayWait(now) { return .wait }
    guard let key = keys.first(where: { $0.fits(algorithm) }) else { return .refuse(.unfitKey) }
    return .use(key.key, generation: current.generation)
  }

  /// The generation of the keys, if they may be used without waiting.
  func generation(now: Int64) -> Int? { mustWait(now) ? nil : current?.generation }

  /// Marks a fetch as running. False if one runs already, or the last one was just before.
  mutating func begin(_ now: Int64) -> Bool {
    guard !isFetching, now >= nextAttempt else { return false }
    isFetching = true
    return true
  }

  /// The same for a refresh in the background. Also false if it is not due yet.
  mutating func beginRefresh(_ now: Int64) -> Bool {
    guard let current, now >= current.refreshesAt else { return false }
    return begin(now)
  }

  mutating func succeed(_ keys: KeySet, maxAge: Duration?, now: Int64) {
    (isFetching, failures, nextAttempt) = (false, 0, now + Self.spacing)
    let lifetime =
      maxAge.map { min(max($0.wholeNanoseconds, Self.lifetimes.lowerBound), Self.lifetimes.upperBound) }
      ?? Self.usualLifetime
    let isNew = current.map { !keys.contains($0.keys) } ?? true
    current = Current(
      keys: keys,
      generation: (current?.generation ?? 0) + (isNew ? 1 : 0),
      refreshesAt: now + lifetime / 5 * 4,
      expiresAt: now + lifetime
    )
  }

  mutating func fail(now: Int64) {
    isFetching = false
    let pause = current == nil ? min(Self.second << min(failures, 4), Self.spacing) : Self.spacing
    (failures, nextAttempt) = (failures + 1, now + pause)
  }

  /// Whether the keys are so old that they are used only if the issuer is down.
  private func mustWait(_ now: Int64) -> Bool {
    guard let current else { return true }
    return now >= current.expiresAt && failures == 0
  }

  private func mayWait(_ now: Int64) -> Bool { isFetching || now >= nextAttempt }
}
