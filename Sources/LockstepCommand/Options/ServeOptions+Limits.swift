import Lockstep

/// The options for how much users may store and how much clients may ask for.
extension ServeOptions {
  private static let count = 0...1_000_000_000

  /// How much a user may store; `lockstep check` takes them too.
  static let quotas: [Option] = [
    Option("--max-favorites", \.favoritesQuota.elements, .integer(count), .storage)
      .help("Favorites of a user; more are refused with 507."),
    Option("--max-favorites-bytes", \.favoritesQuota.bytes, .size(0...largestSize), .storage)
      .help("The size of a user's favorites as JSON; more are refused with 507."),
    Option("--max-suites", \.defaultsQuota.suites, .integer(count), .storage)
      .help("Suites of defaults in which a user has values; more are refused with 507."),
    Option("--max-default-keys", \.defaultsQuota.keys, .integer(count), .storage)
      .help("Keys of a suite; more are refused with 507."),
    Option("--max-suite-bytes", \.defaultsQuota.bytes, .size(0...largestSize), .storage)
      .help("The size of a suite's keys and values as JSON; more are refused with 507."),
  ]

  static let storage: [Option] = [
    Option("--history-days", \.history.days, .integer(0...36_500), .storage)
      .help("For how many days history is kept, for past states and the feed. The present state is always kept."),
    Option("--history-min", \.history.revisions, .integer(1...1_000_000_000), .storage)
      .help("How many of a user's last revisions are kept even if they are older."),
    // With much less, history would be only the last large write, and every write would copy the whole state.
    Option("--max-history-bytes", \.history.bytes, .size(1_048_576...largestSize), .storage)
      .help("The size of a user's history, 1MiB or more. Beyond it the oldest history is pruned, whatever its age."),
    Option("--cache-mb", \.cacheBytes, .mebibytes(1...1_048_576), .storage)
      .help(
        "How many MiB the states of active users may take in memory, approximately. Other states are read from the store."
      ),
  ]

  static let waiting: [Option] = [
    Option("--max-wait", \.longestWait, .integer(0...86_400, "<seconds>"), .waiting)
      .help(
        "The longest time that a long poll waits; longer waits are shortened to it. Many proxies and clients time out after "
          + "60 seconds."
      ),
    Option("--max-waits-per-user", \.waiting.perUser, .integer(count), .waiting)
      .help("Long polls for one user's state at a time; more are refused with 429."),
    Option("--max-waits", \.waiting.inAll, .integer(count), .waiting)
      .help("Long polls at a time; more are refused with 429."),
  ]

  static let limits: [Option] = [
    Option("--max-connections", \.limits.connections, .integer(1...10_000_000), .limits)
      .help(
        "Open connections, one open file each. Beyond them the server responds 503 and closes, for up to the same number "
          + "again if the limit on open files allows it; further connections are closed without a response."
      ),
    Option("--rate-limit", \.tokenRate, .rate, .limits)
      .help(
        "Requests of each token, such as 100/10s, and after a comma how many at once (by default the same number); more are "
          + "refused with 429. Unused requests come back steadily. Responses report the rest in the RateLimit header. Default: "
          + "no limit."
      ),
    Option("--rate-limit-address", \.addressRate, .rate, .limits)
      .help(
        "The same for each client address, or /64 of IPv6, with or without a token; /healthz, /readyz and /metrics do not "
          + "count. Name reverse proxies with --trusted-proxy, or all their clients count as one. Default: no limit."
      ),
    Option("--max-request-line", \.limits.requestLine, .size(64...1_048_576), .limits)
      .help("The longest request line; a longer one is refused with 414."),
    Option("--max-header-section", \.limits.headerSection, .size(64...16_777_216), .limits)
      .help("The largest header section; a larger one is refused with 431."),
    Option("--max-header-fields", \.limits.headerFields, .integer(1...10_000), .limits)
      .help("Header fields of a request; more are refused with 431."),
    Option("--max-body", \.limits.body, .size(0...1_073_741_824), .limits)
      .help("The largest request body; a larger one is refused with 413."),
    Option("--head-timeout", \.limits.headTime, .time(), .limits)
      .help("The time for a request's head to arrive; then 408."),
    Option("--max-body-memory", \.limits.bodyMemory, .size(0...largestSize), .limits)
      .help(
        "The memory for the bodies of all running requests; a request beyond it is refused with 503. At least --max-body, so "
          + "that the largest body fits."
      ),
    Option("--body-grace", \.limits.bodyGrace, .time(), .limits)
      .help("How long a request body may make no progress; then 408."),
    Option("--body-rate", \.limits.bodyRate, .size(1...1_073_741_824), .limits)
      .help("The least that counts as progress of a request body, in bytes a second over --body-grace."),
    Option("--max-output-memory", \.limits.outputMemory, .size(0...largestSize), .limits)
      .help(
        "The memory for output that clients have not read yet. Beyond it a GET with a long response is refused with 503, and a "
          + "connection that cannot take even a short response is closed. A single response may be larger."
      ),
    Option("--idle-timeout", \.limits.idleTime, .time(), .limits)
      .help("How long a connection without a request is kept open."),
    Option("--output-timeout", \.limits.outputStall, .time(), .limits)
      .help(
        "How long a client may read nothing of its response, or less than --response-rate; then the connection is closed."
      ),
    Option("--response-rate", \.limits.responseRate, .size(1...1_073_741_824), .limits)
      .help("The least that a client must read of a waiting response, in bytes a second over --output-timeout."),
    Option("--drain-timeout", \.limits.drainTime, .time(), .limits)
      .help(
        "How long running requests may continue when the server shuts down; then they are cut off. With more than about 8s "
          + "shutting down may take over 10s, after which docker kills the server."
      ),
  ]
}
