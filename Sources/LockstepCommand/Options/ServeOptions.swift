import Lockstep
import LockstepScreens

/// One option of `lockstep serve`.
typealias Option = CommandOption<Configuration>

/// Every option of `lockstep serve`.
enum ServeOptions {
  static let all = server + accounts + quotas + storage + waiting + limits + backups + log

  private static let server: [Option] = [
    Option("--host", \.host, .text("<address>"), .server)
      .help(
        "The name or address to listen on. The default accepts connections from this machine only; :: listens on IPv6 and "
          + "IPv4."
      ),
    Option("--port", \.port, .integer(0...65_535), .server)
      .help("The port to listen on; 0 takes a free one."),
    Option("--data", \.data, .text("<file>"), .server)
      .help("The SQLite file of the store. The server creates it if it does not exist."),
    Option("--threads", \.threads, .integer(1...256), .server)
      .help("The number of event loops, one thread each. Default: one per core."),
    Option("--cors-origin", \.corsOrigins, .origins, .server)
      .help(
        "Origins whose pages may use the server from a browser, separated by commas, such as https://app.example; * allows "
          + "all. Default: none, CORS is off."
      ),
    Option("--trusted-proxy", \.trustedProxies, .networks, .server)
      .help(
        "Proxies whose X-Forwarded-For header is trusted, separated by commas: addresses or networks such as 10.0.0.0/8, "
          + "fd00::/8. The client of a request from a trusted proxy is the rightmost address in X-Forwarded-For that is not a "
          + "trusted proxy; the access log and all limits by address use it. Name only proxies that set this header "
          + "themselves. Default: none, the header is ignored."
      ),
    Option("--profile-upstream", \.profileUpstream, .upstreamURL, .server, isSecret: true)
      .help(
        "The URL that must accept a profile before a screen saves it. The server sends {\"user\",\"companyName\",\"position\"} "
          + "by POST, with the user's id, and saves the profile if the response is 2xx. PATCH /v1/profile and POST /v1/actions "
          + "do not call it. Connecting times out after 5s, the whole request after 15s; redirects are not followed. A user and "
          + "a password in the URL become basic credentials; set the variable LOCKSTEP_PROFILE_UPSTREAM then, because every "
          + "user of this machine can read arguments with ps. https_proxy and no_proxy apply as for curl. Needs libcurl and "
          + "about 10MiB of memory. Default: none, profiles are saved at once."
      ),
  ]

  /// The fewest characters of a new password.
  static let passwordMinimum = Option(
    "--password-min",
    \.accounts.passwordRules.minimumCharacters,
    .integer(1...256),
    .accounts
  )
  .help("The fewest characters of a new password. Existing passwords stay valid.")

  private static let accounts: [Option] = [
    Option("--registration", \.accounts.registration, .choice, .accounts)
      .help("Whether new users may sign up. With closed, only existing users can log in."),
    Option("--token-days", \.accounts.tokenLifetime, .days(1...36_500), .accounts)
      .help("How many days after its last use a session's token expires."),
    passwordMinimum,
    Option("--admin-token", \.administratorToken, .token, .accounts, isSecret: true)
      .help(
        "The administrator token, which requests to /v1/admin must carry. Set the variable LOCKSTEP_ADMIN_TOKEN instead of "
          + "this option: every user of this machine can read arguments with ps. Default: none, /v1/admin is off."
      ),
  ]

  private static let backups: [Option] = [
    Option("--backup-dir", \.backups.folder, .text("<folder>"), .backups)
      .help(
        "The folder for scheduled backups, one file each, named by its time. The server creates the folder. A backup that "
          + "fails is logged, counted and retried, and the server keeps serving. Default: none, no backups are made."
      ),
    Option("--backup-every", \.backups.every, .time(from: .seconds(60)), .backups)
      .help("The time between two backups, 60s or more. It continues across restarts."),
    Option("--backup-keep", \.backups.keep, .integer(1...100_000), .backups)
      .help("How many backups to keep. The oldest are deleted after a new one is complete."),
    Option("--backup-rate", \.backups.bytesPerSecond, .copyRate, .backups)
      .help("How much a backup copies in a second, so that writes do not wait for the disk; 0 sets no limit."),
  ]

  private static let log: [Option] = [
    Option("--log-format", \.logFormat, .choice, .log)
      .help("The format of log lines on standard error."),
    Option("--log-level", \.logLevel, .choice, .log)
      .help("The lowest level that is logged."),
    Option("--access-log", \.accessLog, .flag, .log)
      .help(
        "Log one line for each request at level info: client, method, path, status, bytes, time. For a request that is "
          + "refused before its head is complete: client, status, reason. Default: off."
      ),
  ]
}

extension OptionFormat where Value == UpstreamURL {
  fileprivate static var upstreamURL: OptionFormat {
    OptionFormat(placeholder: "<URL>") { value throws(OptionValueError) in
      do throws(UpstreamURLError) {
        return try UpstreamURL(value)
      } catch {
        throw OptionValueError(reason: "it \(error.reason)")
      }
    }
  }
}
