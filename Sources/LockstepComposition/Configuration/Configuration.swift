import LockstepAccounts
import LockstepHTTP
import LockstepIdentity
import LockstepLogging
import LockstepMail
import LockstepMaintenance
import LockstepMiddleware
import LockstepModules
import LockstepScreens
import LockstepSync

/// The settings of a server, with their default values.
public struct Configuration: Sendable {
  /// The name or address to listen on.
  public var host = "127.0.0.1"
  /// The port; 0 for any free port.
  public var port = 8080
  /// The SQLite file of the store.
  public var data = "./lockstep.db"
  /// The connection string of a PostgreSQL database, as libpq reads it; nil for a store in the file
  /// `data`. It may contain a password.
  public var store: String?
  /// The URL at which the other nodes of the store reach this one; nil for the address that it listens
  /// on, if that is of loopback.
  public var nodeAddress: ServerURL?
  /// Which states reads may return, if other nodes use the store too.
  public var reads = ReadConsistency.recent
  /// The number of event loops; nil for one for each core.
  public var threads: Int?
  /// The origins whose pages may use the server from a browser; empty disables CORS.
  public var corsOrigins: [String] = []
  /// The proxies whose `X-Forwarded-For` header is trusted.
  public var trustedProxies: [IPNetwork] = []
  /// The rate limit of each token; nil for no limit.
  public var tokenRate: RateLimit?
  /// The rate limit of each client address; nil for no limit.
  public var addressRate: RateLimit?
  /// The settings of accounts.
  public var accounts = AccountsConfiguration()
  /// The issuers whose tokens the server accepts.
  public var trustedIssuers: [TrustedIssuer] = []
  /// The cost of a password hash.
  public var passwordStrength = Argon2Strength()
  /// The quota of the module `favorites`, for each user.
  public var favoritesQuota = CollectionQuota()
  /// The quota of the module `defaults`, for each user.
  public var defaultsQuota = DefaultsQuota()
  /// How much of each user's history is kept.
  public var history = HistoryPolicy()
  /// How many requests may wait.
  public var waiting = WaitingLimits()
  /// How many screens may be open.
  public var screens = ScreenLimits()
  /// The longest wait of a request, in seconds. Many proxies and clients time out after 60 seconds.
  public var longestWait = 55
  /// About how many bytes of memory users' states may take.
  public var cacheBytes = 128 * 1024 * 1024
  /// The administrator token; nil for no administrator.
  public var administratorToken: String?
  /// Whether the server has the inspector, `/inspector/`. It needs an administrator token.
  public var inspector = false
  /// The server that must accept a profile before it is saved; nil for none.
  public var profileUpstream: UpstreamURL?
  /// Whether webhooks may have private addresses.
  public var webhookAllowPrivate = false
  /// How the server sends mails.
  public var mail = MailConfiguration()
  /// The scheduled backups.
  public var backups = BackupSchedule()
  /// The limits of the HTTP server.
  public var limits = Limits()
  /// The format of log lines.
  public var logFormat = LogFormat.text
  /// The lowest level that is logged.
  public var logLevel = LogLevel.info
  /// Whether every request is logged.
  public var accessLog = false
  package var outgoingTimes = OutgoingTimes()

  /// Creates the default settings.
  public init() {}
}

/// The settings for mails. The server sends none without a relay, and a relay needs a sender and a public
/// URL.
public struct MailConfiguration: Sendable {
  /// The mail server that passes the mails on.
  public var relay: MailRelay?
  /// The sender of the mails.
  public var sender: MailSender?
  /// The address of the server for users' browsers, for the links in the mails.
  public var publicURL: PublicURL?
  /// The operator's templates; nil for those of the server.
  public var templates: MailTemplates?

  /// Creates the settings of a server that sends no mails.
  public init() {}
}

/// Which state a read returns if several servers use a store.
public enum ReadConsistency: String, Sendable, CaseIterable {
  /// The state in memory, which may lack what another node has committed a few milliseconds ago.
  case recent
  /// The latest state of the store.
  case strict
}
