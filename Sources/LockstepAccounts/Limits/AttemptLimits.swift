/// How many wrong passwords may be tried before the response is 429.
///
/// Behind a proxy that is not trusted, all clients have the proxy's address. Then raise
/// `perNetwork`.
public struct AttemptLimits: Sendable, Equatable {
  /// Wrong passwords from one network, for any account. Default: 50, then one every 6 seconds.
  public var perNetwork = RateLimit(requests: 1, seconds: 6, burst: 50)
  /// Wrong passwords for one account from unknown networks. Default: 10, then one a minute.
  public var perAccount = RateLimit(requests: 1, seconds: 60, burst: 10)
  /// Wrong passwords for one account from each network where it has logged in lately. Default: 10,
  /// then one a minute.
  public var perKnownNetwork = RateLimit(requests: 1, seconds: 60, burst: 10)
  /// Wrong passwords that confirm a change, for each session. Default: 10, then one a minute.
  public var perSession = RateLimit(requests: 1, seconds: 60, burst: 10)
  /// New accounts from one network; nil sets no limit. Default: nil, because all users of an
  /// office, a school or a proxy have one address.
  public var signUpsPerNetwork: RateLimit?
  /// How many networks, accounts and sessions are tracked, and how many successful logins.
  /// Default: 65,536.
  public var remembered = 65_536

  /// The defaults.
  public init() {}
}
