import LockstepCollections
import LockstepThreading

/// Limits the guessing of passwords, in memory: by network, by account and by session.
///
/// An attempt is paid for before the password is looked at, so that a thousand at once don't all slip through, and gets
/// its price back when the password was right. What an attacker fails at hardly touches the account's owner:
///
/// - An account has an allowance for strangers, whoever they are, and one of its own for each network that it has logged
///   in from lately. So strangers who use up the first don't lock out the owner at home.
/// - An owner who comes from somewhere new while an attack goes on may be refused for as long as it lasts. Letting the
///   right password through all the same would tell the attacker which one is right.
/// - Logging in gives back the price of that attempt and nothing else: an attacker who shares the owner's network gains
///   nothing by the owner's logins.
///
/// Whether an account exists makes no difference: the address that was tried is what counts. What is refused is told how
/// long to wait (`tooManyAttempts`).
public final class AttemptLimiter: Sendable {
  /// An attempt that was paid for. One that fails stays paid.
  public struct Attempt: Sendable {
    fileprivate let prices: [Price]
    fileprivate let login: Login?
  }

  /// Who logs in from where.
  fileprivate struct Login: Hashable, Sendable {
    let account: String
    let network: ClientNetwork
  }

  /// What an attempt uses up one of.
  fileprivate enum Price: Hashable, Sendable {
    case network(ClientNetwork)
    case account(String)
    case login(Login)
    case session(SessionID)
    case signUp(ClientNetwork)
  }

  private struct State: Sendable {
    var used: AllowanceTable<Price>
    var known: RecentKeys<Login>
    var figures = Figures()
  }

  /// How many attempts came to nothing.
  package struct Figures: Sendable, Equatable {
    /// For a wrong password, or an address that nobody has.
    package var failed = 0
    /// For a limit, without a look at the password.
    package var refused = 0
  }

  private let limits: AttemptLimits
  private let elapsed: @Sendable () -> Duration
  private let state: LockedState<State>

  /// - Parameters:
  ///   - limits: How many attempts.
  ///   - elapsed: The time, which never goes back.
  public init(_ limits: AttemptLimits = AttemptLimits(), elapsed: @escaping @Sendable () -> Duration) {
    self.limits = limits
    self.elapsed = elapsed
    state = LockedState(
      State(used: AllowanceTable(capacity: limits.remembered), known: RecentKeys(capacity: limits.remembered))
    )
  }

  /// What was counted so far.
  package var figures: Figures { state.withLock { $0.figures } }

  /// Pays for a login to the account of this address's key, which is at most as long as an address may be.
  public func logIn(account: String, from network: ClientNetwork) throws(AccountsError) -> Attempt {
    let login = Login(account: account, network: network)
    return try pay(for: login) { state in
      [.network(network), state.known.find(login) ? .login(login) : .account(account)]
    }
  }

  /// Pays for a password that is asked for within a session.
  public func confirm(in session: SessionID) throws(AccountsError) -> Attempt {
    try pay { _ in [.session(session)] }
  }

  /// Pays for a sign-up, where those are limited. When there is an account it has succeeded, and stays paid.
  public func signUp(account: String, from network: ClientNetwork) throws(AccountsError) -> Attempt {
    try pay(for: Login(account: account, network: network)) { _ in [.signUp(network)] }
  }

  /// The password was right, or there is a new account: what was paid for guessing is given back, and the network is one
  /// that the account is known from.
  public func succeeded(_ attempt: Attempt) {
    giveBack(attempt) { price in
      if case .signUp = price { false } else { true }
    }
    if let login = attempt.login { state.withLock { $0.known.insert(login) } }
  }

  /// The password was wrong: what was paid stays paid.
  public func failed(_: Attempt) {
    state.withLock { $0.figures.failed += 1 }
  }

  /// Nothing was tried after all: everything is given back.
  public func abandoned(_ attempt: Attempt) {
    giveBack(attempt) { _ in true }
  }

  private func pay(
    for login: Login? = nil,
    _ prices: (inout State) -> [Price]
  ) throws(AccountsError) -> Attempt {
    let now = elapsed()
    return try state.withLock { state throws(AccountsError) in
      let prices = prices(&state)
      let limited = prices.compactMap { price in limits.allowance(for: price).map { (price, $0) } }
      let wait = limited.map { state.used.wait(for: $0.0, $0.1, now: now) }.max() ?? .zero
      guard wait == .zero else {
        state.figures.refused += 1
        throw .tooManyAttempts(retryAfter: Self.wholeSeconds(wait))
      }
      for (price, allowance) in limited { state.used.use(price, allowance, now: now) }
      return Attempt(prices: prices, login: login)
    }
  }

  private func giveBack(_ attempt: Attempt, where isGivenBack: (Price) -> Bool) {
    let now = elapsed()
    state.withLock { state in
      for price in attempt.prices where isGivenBack(price) {
        guard let allowance = limits.allowance(for: price) else { continue }
        state.used.giveBack(price, allowance, now: now)
      }
    }
  }

  /// Rounded up: who waits as long as they were told mustn't be told to wait again.
  private static func wholeSeconds(_ duration: Duration) -> Int {
    let (seconds, attoseconds) = duration.components
    return Int(clamping: seconds) + (attoseconds > 0 ? 1 : 0)
  }
}

extension AttemptLimits {
  /// How often there may be such an attempt; nil for any number.
  fileprivate func allowance(for price: AttemptLimiter.Price) -> Allowance? {
    switch price {
    case .network: perNetwork
    case .account: perAccount
    case .login: perKnownNetwork
    case .session: perSession
    case .signUp: signUpsPerNetwork
    }
  }
}
