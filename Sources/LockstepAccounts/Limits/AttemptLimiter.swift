import LockstepCollections
import LockstepJSON
import LockstepThreading

/// Limits the guessing of passwords by network, by account and by session, and the mails that
/// clients ask for.
///
/// An attempt is counted before the password is verified, so that concurrent attempts cannot exceed
/// the limit. A right password gives the attempt back. An attacker's failures hardly affect the
/// account's owner:
///
/// - An account has one limit for all unknown networks, and one for each network of a recent login.
///   So attackers who use up the first limit do not lock the owner out of a known network.
/// - A network has one limit for the accounts that have logged in from there recently, and one for all
///   others. So a client that tries any addresses does not lock these users out of its network.
/// - During an attack, the server may refuse the owner on an unknown network, even with the right
///   password. If the right password were accepted beyond the limit, the limit would not stop
///   guessing.
/// - A login gives back only its own attempt. So an attacker in the owner's network does not profit
///   from the owner's logins.
///
/// If several servers share the store, `SharedAttempts` counts the attempts for all of them.
///
/// The account limits count attempts for the e-mail address in the request, whether or not an
/// account has it. They compare the bytes of its key, as the store does.
package final class AttemptLimiter: Sendable {
  package struct Attempt: Sendable {
    let uses: [Use]
    let login: Login?

    /// Whether this is a login to an account that has logged in from the network recently.
    var isKnown: Bool {
      uses.contains { use in
        if case .login = use { true } else { false }
      }
    }
  }

  struct Login: Hashable, Sendable {
    let account: ExactText
    let network: ClientNetwork
  }

  enum Use: Hashable, Sendable {
    /// A login to an account that has not logged in from this network recently.
    case network(ClientNetwork)
    /// A login to an account that has logged in from this network recently.
    case knownNetwork(ClientNetwork)
    case account(ExactText)
    case login(Login)
    case session(SessionID)
    case signUp(ClientNetwork)
    case administration(ClientNetwork)
    case mailAddress(ExactText)
    case mailNetwork(ClientNetwork)
    case mailSession(SessionID)

    /// Whether a right password gives the use back.
    var isGivenBack: Bool {
      if case .signUp = self { false } else { true }
    }
  }

  private struct State: Sendable {
    var used: RateTable<Use>
    var known: GenerationalCache<Login, Void>
    var metrics = Metrics()
  }

  package struct Metrics: Sendable, Equatable {
    /// Attempts with a wrong password or an unknown e-mail address.
    package var failed = 0
    /// Attempts refused by a limit, without verifying the password.
    package var refused = 0
  }

  private let limits: AttemptLimits
  private let elapsed: @Sendable () -> Duration
  private let state: LockedState<State>

  package init(_ limits: AttemptLimits = AttemptLimits(), elapsed: @escaping @Sendable () -> Duration) {
    self.limits = limits
    self.elapsed = elapsed
    let capacity = limits.remembered
    state = LockedState(State(used: RateTable(capacity: capacity), known: GenerationalCache(capacity: capacity)))
  }

  package var metrics: Metrics { state.withLock { $0.metrics } }

  /// `account` is the result of `addressKey(of:)`, which bounds its length.
  package func logIn(account: String, from network: ClientNetwork) throws(AccountsError) -> Attempt {
    let login = Login(account: account.exact, network: network)
    return try count(login) { state in
      Self.uses(login, isKnown: state.known.contains(login))
    }
  }

  static func uses(_ login: Login, isKnown: Bool) -> [Use] {
    isKnown ? [.knownNetwork(login.network), .login(login)] : [.network(login.network), .account(login.account)]
  }

  package func confirm(in session: SessionID) throws(AccountsError) -> Attempt {
    try count(nil) { _ in [.session(session)] }
  }

  package func signUp(account: String, from network: ClientNetwork) throws(AccountsError) -> Attempt {
    try count(Login(account: account.exact, network: network)) { _ in [.signUp(network)] }
  }

  /// Counts a mail that a client asks for, or that goes to an address.
  func countMail(_ uses: [Use]) throws(AccountsError) { _ = try count(nil, notes: false) { _ in uses } }

  /// Counts a wrong administrator token or service token. Throws `tooManyAttempts` if there were
  /// too many.
  package func failedAdministration(from network: ClientNetwork) throws(AccountsError) {
    failed(try count(nil) { _ in [.administration(network)] })
  }

  /// Gives the attempt back, unless it is a sign-up. Records the network as known for the account.
  package func succeeded(_ attempt: Attempt) {
    giveBack(attempt) { $0.isGivenBack }
    if let login = attempt.login { state.withLock { $0.known.insert(login) } }
  }

  package func failed(_: Attempt) {
    state.withLock { $0.metrics.failed += 1 }
  }

  /// Notes an attempt that another limiter has refused.
  func refused() { state.withLock { $0.metrics.refused += 1 } }

  /// Gives the attempt back, because the password was not verified.
  package func abandoned(_ attempt: Attempt) {
    giveBack(attempt) { _ in true }
  }

  private var now: Int64 {
    let (seconds, attoseconds) = elapsed().components
    return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
  }

  private func count(
    _ login: Login?,
    notes: Bool = true,
    _ uses: (inout State) -> [Use]
  ) throws(AccountsError) -> Attempt {
    let now = now
    return try state.withLock { state throws(AccountsError) in
      let uses = uses(&state)
      let limited = uses.compactMap { use in limits.limit(for: use).map { (use, $0) } }
      let wait = limited.map { state.used.wait(for: $0.0, $0.1, at: now) }.max() ?? 0
      guard wait == 0 else {
        if notes { state.metrics.refused += 1 }
        throw .tooManyAttempts(wait: wait)
      }
      for (use, limit) in limited { state.used.use(use, limit, at: now) }
      return Attempt(uses: uses, login: login)
    }
  }

  private func giveBack(_ attempt: Attempt, where isGivenBack: (Use) -> Bool) {
    let now = now
    state.withLock { state in
      for use in attempt.uses where isGivenBack(use) {
        if let limit = limits.limit(for: use) { state.used.giveBack(use, limit, at: now) }
      }
    }
  }
}

extension AccountsError {
  /// The refusal of an attempt that is allowed again after so many nanoseconds.
  static func tooManyAttempts(wait: Int64) -> AccountsError {
    // Rounded up, so that a client that waits this long is not refused again.
    .tooManyAttempts(retryAfter: Int((wait + 999_999_999) / 1_000_000_000))
  }
}

extension AttemptLimits {
  /// The limit; nil for no limit.
  func limit(for use: AttemptLimiter.Use) -> RateLimit? {
    switch use {
    case .network, .knownNetwork: perNetwork
    case .account: perAccount
    case .login: perKnownNetwork
    case .session: perSession
    case .signUp: signUpsPerNetwork
    case .administration: administrationPerNetwork
    case .mailAddress: mailsPerAddress
    case .mailNetwork: mailsPerNetwork
    case .mailSession: mailsPerSession
    }
  }
}
