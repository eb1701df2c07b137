/// The settings for accounts.
public struct AccountsConfiguration: Sendable, Equatable {
  /// Whether new users may sign up.
  public enum Registration: String, Sendable, CaseIterable {
    /// New users may sign up.
    case open
    /// Only the operator adds users.
    case closed
  }

  /// Whether new users may sign up. Default: open.
  public var registration = Registration.open
  /// The rules for new passwords. Existing passwords stay valid when the rules change.
  public var passwordRules = PasswordRules()
  /// The lifetime of a token after its last use. It must be some minutes or longer, because a use
  /// is recorded at most once a minute. Default: 90 days.
  public var tokenLifetime = Duration.seconds(90 * 86_400)
  /// How many sessions a user may have. One more login ends the least recently used session.
  /// Default: 1,000.
  public var sessionsPerUser = 1_000
  /// How many sessions are kept in memory, about 300 bytes each. Default: 100,000.
  public var sessionsInMemory = 100_000
  /// The random delay between a request for a mail and its work. Without it, the time of the
  /// client's next response would say whether there is an account. Default: half a second to 3
  /// seconds.
  public var mailDelay = Duration.milliseconds(500)...Duration.seconds(3)
  /// The limits on wrong passwords, on sign-ups and on mails.
  public var attempts = AttemptLimits()

  /// Creates the default settings.
  public init() {}
}
