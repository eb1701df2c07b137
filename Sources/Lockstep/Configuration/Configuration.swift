import LockstepAccounts
import LockstepHTTP
import LockstepLogging
import LockstepMaintenance
import LockstepMiddleware
import LockstepScreens
import LockstepSync

/// All that can be set about a server. Every value has its default here and nowhere else.
public struct Configuration: Sendable {
  /// The name or address to listen on.
  public var host = "127.0.0.1"
  /// The port; 0 takes a free one.
  public var port = 8080
  /// The SQLite file that holds everything.
  public var data = "./lockstep.db"
  /// How many event loops; nil stands for one a core.
  public var threads: Int?
  /// The origins whose pages may use the server from a browser; empty switches CORS off.
  public var corsOrigins: [String] = []
  /// The proxies that are believed whom they were asked by.
  public var trustedProxies: [IPNetwork] = []
  /// How many requests each token may make; nil: any number.
  public var tokenRate: RateLimit?
  /// How many requests each address may make; nil: any number.
  public var addressRate: RateLimit?
  /// What may be chosen about accounts.
  public var accounts = AccountsConfiguration()
  /// How dear a password hash is.
  public var passwordStrength = Argon2Strength()
  /// How much a user may have of favorites.
  public var favoritesQuota = CollectionQuota()
  /// How much a user may have of defaults.
  public var defaultsQuota = DefaultsQuota()
  /// How much history is kept.
  public var history = HistoryPolicy()
  /// How many may wait for something to happen.
  public var waiting = WaitingLimits()
  /// How many screens may be open.
  public var screens = ScreenLimits()
  /// The longest that anybody is held waiting, in seconds: many proxies and clients give up at 60.
  public var longestWait = 55
  /// About how many bytes users' states may take in memory.
  public var cacheBytes = 64 * 1024 * 1024
  /// The administrator's token; nil: there is no administrator.
  public var administratorToken: String?
  /// Who has to take a profile before it's saved; nil: nobody has to.
  public var profileUpstream: UpstreamURL?
  /// Which backups are made while it serves.
  public var backups = BackupSchedule()
  /// What the HTTP engine bears with.
  public var limits = Limits()
  /// How log lines are written.
  public var logFormat = LogFormat.text
  /// The least level that is logged.
  public var logLevel = LogLevel.info
  /// Whether every request gets a log line.
  public var accessLog = false

  /// The defaults.
  public init() {}
}
