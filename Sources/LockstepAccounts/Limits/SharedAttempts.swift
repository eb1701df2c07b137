import LockstepCollections
import LockstepJSON
import LockstepStore
import LockstepThreading

/// Counts attempts in the database, so that the limits hold for all servers together.
///
/// It has no limit of its own for the rows in the database: each one needs the time of a password
/// hash or a place in the queue of mails, and is deleted when it limits nothing any more.
///
/// If the database cannot be reached, attempts fail. If it cannot be reached after an attempt, the
/// attempt stays counted.
final class SharedAttempts: Sendable {
  typealias Attempt = AttemptLimiter.Attempt
  private typealias Login = AttemptLimiter.Login
  private typealias Use = AttemptLimiter.Use

  /// A refusal of the database. For a moment, this server refuses without asking again, so that a
  /// client that ignores refusals does not load the database.
  private struct Refusal {
    /// When the attempt is allowed again.
    let end: Int64
    /// When the database is asked again, because a right password may have given an attempt back.
    let lookAgain: Int64
  }

  private static let refusalLifetime: Int64 = 1_000_000_000
  /// How many logins of a refused network may wait for their look-ups. These take well under a second in all.
  private static let mostLookUps = 64

  private let limits: AttemptLimits
  private let counter: AttemptCounter
  private let key: TokenKey
  private let elapsed: @Sendable () -> Duration
  /// Refusals for a network, for a session and, for logins, for an account from a network. Whether
  /// such a network is known does not matter here.
  private let refusals: LockedState<GenerationalCache<Use, Refusal>>
  /// Logins that the database has recently reported as known. A refusal for the unknown logins of a
  /// network does not count for these.
  private let known: LockedState<GenerationalCache<Login, Void>>
  /// Allows one look-up for a refused network at a time, so that its logins do not delay other networks.
  private let lookUps = FairShareLimiter<ClientNetwork>(
    name: "a network's logins",
    atOnce: 1,
    waiting: SharedAttempts.mostLookUps
  )

  /// The rows in the database have hashes with `key` instead of addresses.
  init(
    _ limits: AttemptLimits,
    _ counter: AttemptCounter,
    key: TokenKey,
    elapsed: @escaping @Sendable () -> Duration
  ) {
    (self.limits, self.counter, self.key, self.elapsed) = (limits, counter, key, elapsed)
    refusals = LockedState(GenerationalCache(capacity: limits.remembered))
    known = LockedState(GenerationalCache(capacity: limits.remembered))
  }

  func logIn(account: String, from network: ClientNetwork) async throws(AccountsError) -> Attempt {
    let login = Login(account: account.exact, network: network)
    try refuse([.login(login)])
    let keys: [Use] = try await isKnown(login) ? [.knownNetwork(network)] : []
    return try await count(login, refusedAs: keys) { AttemptLimiter.uses(login, isKnown: $0) }
  }

  func confirm(in session: SessionID) async throws(AccountsError) -> Attempt {
    try await count(nil, refusedAs: [.session(session)]) { _ in [.session(session)] }
  }

  func signUp(account: String, from network: ClientNetwork) async throws(AccountsError) -> Attempt {
    let login = Login(account: account.exact, network: network)
    guard limits.signUpsPerNetwork != nil else { return Attempt(uses: [], login: login) }
    return try await count(login, refusedAs: [.signUp(network)]) { _ in [.signUp(network)] }
  }

  func countMail(_ uses: [AttemptLimiter.Use]) async throws(AccountsError) {
    _ = try await count(nil, refusedAs: uses) { _ in uses }
  }

  func succeeded(_ attempt: Attempt) async {
    if let login = attempt.login { known.withLock { $0.insert(login) } }
    await giveBack(attempt.uses.filter(\.isGivenBack), recentLogin: attempt.login.map(recentLoginKey))
  }

  func abandoned(_ attempt: Attempt) async { await giveBack(attempt.uses, recentLogin: nil) }

  // MARK: Counting

  /// Whether a login is certainly known. False: `count` asks the database. Throws if the unknown logins of its
  /// network are refused, and the login is not known.
  private func isKnown(_ login: Login) async throws(AccountsError) -> Bool {
    if known.withLock({ $0.contains(login) }) { return true }
    let now = now
    guard let refusal = refusals.withLock({ $0.peek(.network(login.network)) }), now < refusal.lookAgain else {
      return false
    }
    // This server may not have seen a login that the database knows, for example after a restart. If the
    // database cannot be asked now, the refusal counts.
    let key = recentLoginKey(login)
    let isRecent: Bool? = try? await lookUps.run(for: login.network) { try await counter.isRecent(key) }
    switch isRecent {
    case true?:
      known.withLock { $0.insert(login) }
      return true
    case false?:
      // The next attempts of this login are refused without asking.
      refusals.withLock { $0.insert(refusal, for: .login(login)) }
    case nil: break
    }
    throw .tooManyAttempts(wait: refusal.end - now)
  }

  /// Counts the uses. `refusedAs` has the key of each use's refusal.
  private func count(
    _ login: Login?,
    refusedAs keys: [Use],
    _ uses: @escaping @Sendable (_ isKnown: Bool) -> [Use]
  ) async throws(AccountsError) -> Attempt {
    try refuse(keys)
    let outcome = try await AccountsError.converting {
      try await counter.count(recentLogin: login.map(recentLoginKey)) { [self] isKnown in
        uses(isKnown).compactMap { use in counted(use).map { (use, $0) } }
      }
    }
    let wait = outcome.map(\.wait).max() ?? 0
    let attempt = Attempt(uses: outcome.map(\.kind), login: login)
    if attempt.isKnown, let login { known.withLock { $0.insert(login) } }
    guard wait == 0 else {
      note(outcome, login)
      throw .tooManyAttempts(wait: wait)
    }
    return attempt
  }

  /// Throws if the database has just refused one of these.
  private func refuse(_ keys: [Use]) throws(AccountsError) {
    let now = now
    let known = refusals.withLock { refusals in keys.compactMap { refusals.peek($0) } }
    let end = known.filter { now < $0.lookAgain }.map(\.end).max()
    if let end, now < end { throw .tooManyAttempts(wait: end - now) }
  }

  private func note(_ outcome: [(kind: Use, wait: Int64)], _ login: Login?) {
    let now = now
    refusals.withLock { refusals in
      for (use, wait) in outcome where wait > 0 {
        // Other networks may be known ones, for which this refusal does not count.
        let key: Use = if case .account = use, let login { .login(login) } else { use }
        refusals.insert(Refusal(end: now + wait, lookAgain: now + min(wait, Self.refusalLifetime)), for: key)
      }
    }
  }

  private func giveBack(_ uses: [Use], recentLogin: [UInt8]?) async {
    let counted = uses.compactMap(counted)
    if counted.isEmpty, recentLogin == nil { return }
    try? await counter.giveBack(counted, recentLogin: recentLogin)
  }

  private var now: Int64 { elapsed().wholeNanoseconds }

  // MARK: Keys

  /// The use as the database counts it; nil without a limit.
  private func counted(_ use: Use) -> AttemptCounter.Use? {
    guard let limit = limits.limit(for: use) else { return nil }
    let key =
      switch use {
      case .network(let network): hash("network", network.description)
      case .knownNetwork(let network): hash("knownNetwork", network.description)
      case .account(let account): hash("account", account.text)
      case .login(let login): hash("login", login.account.text, login.network.description)
      case .session(let session): hash("session", session.description)
      case .signUp(let network): hash("signUp", network.description)
      case .administration(let network): hash("administration", network.description)
      case .mailAddress(let address): hash("mailAddress", address.text)
      case .mailNetwork(let network): hash("mailNetwork", network.description)
      case .mailSession(let session): hash("mailSession", session.description)
      }
    return AttemptCounter.Use(key: key, interval: limit.interval, span: limit.span)
  }

  private func recentLoginKey(_ login: Login) -> [UInt8] {
    hash("recentLogin", login.account.text, login.network.description)
  }

  private func hash(_ kind: String, _ name: String, _ network: String = "") -> [UInt8] {
    key.hash(for: "attempt", Array(kind.utf8), Array(name.utf8), Array(network.utf8), count: 16)
  }
}
