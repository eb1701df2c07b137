/// How many wrong passwords and sign-ups are allowed before the response is 429, and how many mails before
/// no more are sent.
///
/// If the server is behind a proxy that it does not trust, all clients have the proxy's address.
/// Then raise `perNetwork`.
public struct AttemptLimits: Sendable, Equatable {
  /// Wrong passwords from one network: for all accounts that have logged in from there recently, and
  /// separately for all others. Default: 50, then one every 6 seconds.
  public var perNetwork = RateLimit(requests: 1, seconds: 6, burst: 50)
  /// Wrong passwords for one account from unknown networks. Default: 10, then one a minute.
  public var perAccount = RateLimit(requests: 1, seconds: 60, burst: 10)
  /// Wrong passwords for one account from each network of a recent login. Default: 10, then one a
  /// minute.
  public var perKnownNetwork = RateLimit(requests: 1, seconds: 60, burst: 10)
  /// Wrong passwords to confirm a change, for each session. Default: 10, then one a minute.
  public var perSession = RateLimit(requests: 1, seconds: 60, burst: 10)
  /// New accounts from one network; nil sets no limit. Default: nil, because all users of an
  /// office, a school or a proxy have one address.
  public var signUpsPerNetwork: RateLimit?
  /// Wrong administrator tokens and service tokens from one network. Default: 20, then one every 3
  /// seconds.
  public var administrationPerNetwork = RateLimit(requests: 20, seconds: 60)
  /// Mails of a kind that are sent to one address. Default: 5, then one every 10 minutes.
  public var mailsPerAddress = RateLimit(requests: 1, seconds: 600, burst: 5)
  /// Mails that clients of one network ask for. Default: 30, then one a minute.
  public var mailsPerNetwork = RateLimit(requests: 1, seconds: 60, burst: 30)
  /// Mails that one session asks for. Default: 10, then one every 6 minutes.
  public var mailsPerSession = RateLimit(requests: 1, seconds: 360, burst: 10)
  /// How many networks, accounts and sessions are tracked in all, and how many recent logins.
  /// Default: 65,536 of each.
  public var remembered = 65_536

  /// Creates the default limits.
  public init() {}
}
