/// How many passwords may be tried before the answer is "too many requests".
///
/// Only wrong ones count. Behind a proxy that isn't trusted to name its clients all of them share the proxy's address:
/// then give `perNetwork` room.
public struct AttemptLimits: Sendable, Equatable {
  /// Wrong passwords from one network, whosever. Default: 50, then one every 6 seconds.
  public var perNetwork: Allowance
  /// Wrong passwords for one account from networks that it's unknown from. Default: 10, then one a minute.
  public var perAccount: Allowance
  /// Wrong passwords for one account from a network that it has logged in from lately, each such network by itself.
  /// Default: 10, then one a minute.
  public var perKnownNetwork: Allowance
  /// Wrong passwords within a session, where one is asked for again. Default: 10, then one a minute.
  public var perSession: Allowance
  /// New accounts from one network; nil for as many as the hashing allows. Default: nil, since a fair number depends on
  /// who the users are: an office, a school or a proxy shows one address for all of them.
  public var signUpsPerNetwork: Allowance?
  /// How many networks, accounts and sessions are remembered in all, and how many logins that succeeded. Default: 65,536.
  public var remembered: Int

  /// Limits with their defaults.
  public init(
    perNetwork: Allowance = Allowance(burst: 50, every: .seconds(6)),
    perAccount: Allowance = Allowance(burst: 10, every: .seconds(60)),
    perKnownNetwork: Allowance = Allowance(burst: 10, every: .seconds(60)),
    perSession: Allowance = Allowance(burst: 10, every: .seconds(60)),
    signUpsPerNetwork: Allowance? = nil,
    remembered: Int = 65_536
  ) {
    self.perNetwork = perNetwork
    self.perAccount = perAccount
    self.perKnownNetwork = perKnownNetwork
    self.perSession = perSession
    self.signUpsPerNetwork = signUpsPerNetwork
    self.remembered = remembered
  }
}
