import LockstepComposition
import LockstepHTTP
import LockstepIdentity
import LockstepScreens

typealias Option = CommandOption<Configuration>

enum ServeOptions {
  static let all = server + accounts + MailOptions.all + quotas + storage + waiting + limits + backups + log

  private static let server: [Option] = [
    Option("--host", \.host, .text("<address>"), .server)
      .help(
        "The name or address to listen on. The default accepts only connections from this machine. The address :: listens "
          + "on IPv6 and IPv4."
      ),
    Option("--port", \.port, .integer(0...65_535), .server)
      .help("The port to listen on; 0 chooses a free port."),
    Option("--data", \.data, .text("<file>"), .server)
      .help("The SQLite file of the store. The server creates it if it does not exist."),
    Option("--store", \.store, .text("<connection>"), .server, isSecret: true)
      .help(
        "The PostgreSQL database of the store instead of a file: a URI such as postgresql://user@host/database, or libpq's "
          + "keywords and values. Set the variable LOCKSTEP_STORE if the connection string has a password, because every user "
          + "of this machine can read arguments with ps. The server creates its tables if the database is empty. Any number of "
          + "servers may use one database: see docs/fleet.md. The option needs libpq. Default: none, the store is the file of "
          + "--data."
      ),
    Option("--reads", \.reads, .choice, .server)
      .help(
        "With --store: whether a read may be a few milliseconds behind what another node has committed (recent), or not "
          + "(strict). A strict read asks the database for the user's latest revision first. A client can ask for it with "
          + "Prefer: consistency=strict. With either value, a request with a cursor gets a state that is at least as "
          + "new."
      ),
    Option("--node-address", \.nodeAddress, .serverURL, .server, isSecret: true)
      .help(
        "With --store: the URL at which the other nodes that use the database reach this one, such as "
          + "http://10.0.0.7:8080. They forward requests for the screens of this node to it, over plain HTTP, so the "
          + "network between the servers must be private. Default: the address that the server listens on, if it is a "
          + "loopback address; otherwise none, and other nodes cannot reach the screens."
      ),
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
          + "trusted proxy. The access log and all limits by address use this client. Name only proxies that set this header "
          + "themselves. Default: none, the header is ignored."
      ),
    Option("--profile-upstream", \.profileUpstream, .upstreamURL, .server, isSecret: true)
      .help(
        "The URL that must accept a profile before a screen saves it. The server sends {\"user\",\"companyName\",\"position\"} "
          + "by POST, with the user's id, and saves the profile if the response is 2xx. PATCH /v1/profile and POST /v1/actions "
          + "do not call it. Connecting times out after 5s, the whole request after 15s; redirects are not followed. A user and "
          + "a password in the URL become basic credentials. Set such a URL with the variable LOCKSTEP_PROFILE_UPSTREAM, because "
          + "every user of this machine can read arguments with ps. The variables https_proxy and no_proxy apply as in curl. The "
          + "option needs libcurl and about 10MiB of memory. Default: none, profiles are saved at once."
      ),
    Option("--webhook-allow-private", \.webhookAllowPrivate, .flag, .server)
      .help(
        "Let webhooks have addresses that are not public, such as loopback and private ones, and send their requests through the proxy in "
          + "https_proxy. A service token with the scope admin can then make the server connect to any host of this network. "
          + "Default: off."
      ),
  ]

  static let passwordMinimum =
    Option("--password-min", \.accounts.passwordRules.minimumCharacters, .integer(1...256), .accounts)
    .help("The fewest characters of a new password. Existing passwords stay valid.")

  private static let identity = Option(
    syntax: OptionSyntax(
      name: "--identity",
      placeholder: "<issuer>",
      group: .accounts,
      isSecret: false,
      hasVariable: true,
      defaultText: nil
    )
  ) { configuration, text throws(OptionValueError) in
    do throws(TrustedIssuerError) {
      // A variable may have several, separated by spaces.
      for part in text.isEmpty ? [""] : text.split(separator: " ") {
        configuration.trustedIssuers.append(try TrustedIssuer(parsing: String(part)))
      }
      try TrustedIssuer.expectDifferentIssuers(configuration.trustedIssuers)
    } catch {
      throw OptionValueError(reason: "\(error)")
    }
  }
  .help(
    "An issuer whose tokens (JWT) the server accepts, as issuer=<URL>,audience=<name> and perhaps ,jwks=<URL> for its "
      + "keys and ,algorithms=RS256+ES256. Repeat the option for more issuers, or separate them by spaces in the "
      + "variable. A user of the issuer becomes a user of the server with the first request, unless registration is "
      + "closed. The option needs libcurl and libcrypto (OpenSSL 3): see docs/identity.md. Default: none."
  )

  private static let accounts: [Option] = [
    Option("--registration", \.accounts.registration, .choice, .accounts)
      .help("Whether new users may sign up. With the value closed, only the operator can add users."),
    Option("--token-days", \.accounts.tokenLifetime, .days(1...36_500), .accounts)
      .help("How many days after its last use a session's token expires."),
    passwordMinimum,
    identity,
    Option("--admin-token", \.administratorToken, .token, .accounts, isSecret: true)
      .help(
        "The administrator token, which requests to /v1/admin must contain. Set the variable LOCKSTEP_ADMIN_TOKEN instead of "
          + "this option: every user of this machine can read arguments with ps. Default: none, /v1/admin is off."
      ),
    inspector,
  ]

  private static let inspector =
    Option("--inspector", \.inspector, .flag, .accounts)
    .help("Serve the inspector, a page for administrators, at /inspector/. It needs --admin-token. Default: off.")

  private static let count = 0...1_000_000_000

  /// How much a user may store. `lockstep check` has these options too.
  static let quotas: [Option] = [
    Option("--max-favorites", \.favoritesQuota.elements, .integer(count), .storage)
      .help("How many favorites a user may have; more are refused with 507."),
    Option("--max-favorites-bytes", \.favoritesQuota.bytes, .size(0...largestSize), .storage)
      .help("The largest size of a user's favorites as JSON; a write that exceeds it is refused with 507."),
    Option("--max-suites", \.defaultsQuota.suites, .integer(count), .storage)
      .help("In how many suites of defaults a user may have values; more are refused with 507."),
    Option("--max-default-keys", \.defaultsQuota.keys, .integer(count), .storage)
      .help("How many keys a suite may have; more are refused with 507."),
    Option("--max-suite-bytes", \.defaultsQuota.bytes, .size(0...largestSize), .storage)
      .help("The largest size of a suite's keys and values as JSON; a write that exceeds it is refused with 507."),
  ]

  static let storage: [Option] = [
    Option("--history-days", \.history.days, .integer(0...36_500), .storage)
      .help("How many days history is kept, for past states and the feed. The present state is always kept."),
    Option("--history-min", \.history.revisions, .integer(1...1_000_000_000), .storage)
      .help("How many of a user's last revisions are kept even if they are older than --history-days."),
    // With a much lower limit, history would contain only the last large write, and every write
    // would copy the whole state.
    Option("--max-history-bytes", \.history.bytes, .size(1_048_576...largestSize), .storage)
      .help("The largest size of a user's history, 1MiB or more. Above it, the oldest is pruned, whatever its age."),
    Option("--max-key-bytes", \.history.keyBytes, .size(65_536...largestSize), .storage)
      .help(
        "The largest size of the records of a user's idempotency keys, 64KiB or more. Above it, the server forgets the "
          + "oldest keys before 24 hours have passed."
      ),
    Option("--cache-mb", \.cacheBytes, .mebibytes(1...1_048_576), .storage)
      .help(
        "How many MiB the states of active users may take in memory, approximately. Other states are read from the store."
      ),
  ]

  static let waiting: [Option] = [
    Option("--max-wait", \.longestWait, .integer(0...86_400, "<seconds>"), .waiting)
      .help(
        "The longest time that a long poll waits, even if the client asks for more. Many proxies and clients time out after "
          + "60 seconds."
      ),
    Option("--max-waits-per-user", \.waiting.perUser, .integer(count), .waiting)
      .help("How many long polls for one user's state may wait at a time; more are refused with 429."),
    Option("--max-waits", \.waiting.inAll, .integer(count), .waiting)
      .help("How many long polls may wait at a time; more are refused with 429."),
  ]

  static let limits: [Option] = [
    Option("--max-connections", \.limits.connections, .integer(1...10_000_000), .limits)
      .help(
        "How many connections may be open. Each takes one open file. As many connections again get 503 and are closed, if "
          + "the limit on open files allows it. All others are closed without a response."
      ),
    Option("--rate-limit", \.tokenRate, .rate, .limits)
      .help(
        "How many requests each token may send, such as 100/10s, and after a comma how many at once (by default the same "
          + "number); more are refused with 429. Used requests become available again at a steady rate. The RateLimit header "
          + "of each response has the number of requests left. Default: no limit."
      ),
    Option("--rate-limit-address", \.addressRate, .rate, .limits)
      .help(
        "How many requests each IPv4 address, or /64 network of IPv6, may send, with or without a token, as in "
          + "--rate-limit; /healthz, /readyz and /metrics do not count. If a reverse proxy is not named with --trusted-proxy, "
          + "all its clients count as one. Default: no limit."
      ),
    Option("--max-request-line", \.limits.requestLine, .size(64...1_048_576), .limits)
      .help("The longest request line; a longer one is refused with 414."),
    Option("--max-header-section", \.limits.headerSection, .size(64...16_777_216), .limits)
      .help("The largest header section; a larger one is refused with 431."),
    Option("--max-header-fields", \.limits.headerFields, .integer(1...10_000), .limits)
      .help("How many header fields a request may have; more are refused with 431."),
    Option("--max-body", \.limits.body, .size(0...1_073_741_824), .limits)
      .help("The largest request body; a larger one is refused with 413."),
    Option("--head-timeout", \.limits.headTime, .time(), .limits)
      .help("How long a request's head may take to arrive; after that, the response is 408."),
    Option("--max-body-memory", \.limits.bodyMemory, .size(0...largestSize), .limits)
      .help(
        "The memory for the bodies of all running requests; a request whose body does not fit is refused with 503. "
          + "Bodies that are parsed may take as much again. It cannot be less than --max-body."
      ),
    Option("--body-grace", \.limits.bodyGrace, .time(), .limits)
      .help("How long a request body may make no progress; after that, the response is 408."),
    Option("--body-rate", \.limits.bodyRate, .size(1...1_073_741_824), .limits)
      .help("The lowest rate that counts as progress of a body, in bytes a second, averaged over --body-grace."),
    Option("--max-output-memory", \.limits.outputMemory, .size(0...largestSize), .limits)
      .help(
        "The memory for output that clients have not read yet. If a long response to a GET does not fit, the client gets "
          + "503. If other output does not fit, the connection is closed. One response may be larger, even with 0, if no "
          + "other connection has output in memory."
      ),
    Option("--idle-timeout", \.limits.idleTime, .time(), .limits)
      .help("How long a connection without a request is kept open."),
    Option("--output-timeout", \.limits.outputStall, .time(), .limits)
      .help("How long a client may read more slowly than --response-rate; after that, the connection is closed."),
    Option("--response-rate", \.limits.responseRate, .size(1...1_073_741_824), .limits)
      .help("The lowest rate at which a client may read, in bytes a second, averaged over --output-timeout."),
    Option("--drain-timeout", \.limits.drainTime, .time(), .limits)
      .help(
        "How long running requests may continue when the server shuts down; after that, they are cut off. With more than "
          + "about 8s, shutting down may take over 10s, after which docker kills the server."
      ),
  ]

  private static let backups: [Option] = [
    Option("--backup-dir", \.backups.folder, .text("<folder>"), .backups)
      .help(
        "The folder for scheduled backups. Each is one file with its time in the name. The server creates the folder. A "
          + "backup that fails is logged, counted and retried, and the server keeps serving. Default: none, no backups are made."
      ),
    Option("--backup-every", \.backups.every, .time(from: .seconds(60)), .backups)
      .help("The time between two backups, 60s or more. A restart of the server does not reset it."),
    Option("--backup-keep", \.backups.keep, .integer(1...100_000), .backups)
      .help("How many backups to keep. The oldest are deleted after a new one is complete."),
    Option("--backup-rate", \.backups.bytesPerSecond, .copyRate, .backups)
      .help("The most bytes that a backup copies in a second, so that writes do not wait for the disk; 0: no limit."),
  ]

  private static let log: [Option] = [
    Option("--log-format", \.logFormat, .choice, .log)
      .help("The format of log lines on standard error."),
    Option("--log-level", \.logLevel, .choice, .log)
      .help("The lowest level that is logged."),
    Option("--access-log", \.accessLog, .flag, .log)
      .help(
        "Log one line for each request at level info: client, method, path, status, bytes, time. If a request is refused "
          + "before its head is complete, its line has client, status, reason. Default: off."
      ),
  ]
}

extension OptionFormat where Value == ServerURL {
  fileprivate static var serverURL: OptionFormat {
    let reason = "it must be http:// with a host, with or without a port, such as http://10.0.0.7:8080"
    return OptionFormat("<URL>", reason: reason) { ServerURL($0) }
  }
}

extension OptionFormat where Value == UpstreamURL {
  static var upstreamURL: OptionFormat {
    OptionFormat(placeholder: "<URL>") { value throws(OptionValueError) in
      do throws(UpstreamURLError) {
        return try UpstreamURL(value)
      } catch {
        throw OptionValueError(reason: "it \(error.reason)")
      }
    }
  }
}
