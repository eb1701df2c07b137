/// What whoever runs the server may choose about accounts.
public struct AccountsConfiguration: Sendable, Equatable {
  /// Who may sign up.
  public enum Registration: String, Sendable, CaseIterable {
    /// Everybody.
    case open
    /// Nobody.
    case closed
  }

  /// Who may sign up. Default: everybody.
  public var registration = Registration.open
  /// What a new password must be.
  public var passwordRules = PasswordRules()
  /// How long after its last use a token ends; some minutes at least, since uses are noted to the minute. Default: 90
  /// days.
  public var tokenLifetime = Duration.seconds(90 * 86_400)
  /// How many sessions a user may have. A login beyond it ends the one that wasn't used for longest. Default: 1,000.
  public var sessionsPerUser = 1_000
  /// How many sessions are kept in memory, some 300 bytes each. Default: 100,000.
  public var sessionsInMemory = 100_000
  /// How many wrong passwords may be tried.
  public var attempts = AttemptLimits()

  /// The defaults.
  public init() {}
}
