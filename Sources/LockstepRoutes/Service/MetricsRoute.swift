import LockstepAccounts
import LockstepHTTP
import LockstepHTTPServer
import LockstepIdentity
import LockstepMaintenance
import LockstepMiddleware
import LockstepOpenAPI
import LockstepSQLiteStore
import LockstepScreens
import LockstepStore
import LockstepThreading
import LockstepTime
import LockstepWebhooks

/// `GET /metrics`: the server's metrics in Prometheus' text format.
package struct MetricsRoute: Sendable {
  package static let pattern = "/metrics"

  private let requests: RequestMetrics
  /// Each closure writes the metrics of one part of the server, such as connections or the store.
  private let parts: [@Sendable (inout MetricsPage) -> Void]
  private let droppedLogLines: @Sendable () -> Int
  private let uptimeSeconds: @Sendable () -> Double
  private let monotonic: @Sendable () -> Int64
  private let kept = LockedState(KeptText())

  /// `monotonic` is the time in nanoseconds, by which texts are kept.
  package init(
    requests: RequestMetrics,
    parts: [@Sendable (inout MetricsPage) -> Void],
    droppedLogLines: @escaping @Sendable () -> Int,
    uptimeSeconds: @escaping @Sendable () -> Double,
    monotonic: @escaping @Sendable () -> Int64
  ) {
    self.requests = requests
    self.parts = parts
    self.droppedLogLines = droppedLogLines
    self.uptimeSeconds = uptimeSeconds
    self.monotonic = monotonic
  }

  package var route: Route {
    Route(.get, Self.pattern, summary: "Metrics in Prometheus' text format.") { _ in
      var fields = HeaderFields()
      fields.append(.contentType, "text/plain; version=0.0.4; charset=utf-8")
      fields.append(.cacheControl, "no-store")
      fields.append(contentsOf: .forBrowsers)
      return Response(status: .ok, fields: fields, body: .bytes(await text()))
    }
    .described(
      RouteDescription(
        "getMetrics",
        part: "Service",
        responses: [RouteResponse(.ok, "The metrics.", fields: [.cacheControl], content: [("text/plain", .textSchema)])]
      )
    )
  }

  /// Making a text takes half a millisecond, and the route needs no token. So if many requests come, most of
  /// them get the last text.
  func text() async -> [UInt8] {
    if let text = kept.withLock({ [now = monotonic()] in $0.textInsteadOfNew(at: now) }) { return text }
    let made = Array(await makeText().utf8)
    kept.withLock { $0.text = made }
    return made
  }

  private func makeText() async -> String {
    var page = MetricsPage()
    writeRequests(to: &page)
    for write in parts { write(&page) }
    writeProcess(await .current(), to: &page)
    return page.text
  }

  private func writeRequests(to page: inout MetricsPage) {
    let routes = requests.total()
    page.family("lockstep_http_requests_total", .counter, "Requests by method, route and status.")
    for (label, counts) in routes {
      for entry in counts.byStatus.sorted(by: { $0.status < $1.status }) {
        page.sample(Double(entry.count), Self.labels(label) + [("status", String(entry.status))])
      }
    }
    let help = "Time from a request's head to its response, by method and route."
    page.family("lockstep_http_request_duration_seconds", .histogram, help)
    for (label, counts) in routes {
      page.histogram(counts.durations, unit: 1_000_000_000, Self.labels(label))
    }
  }

  private static func labels(_ label: RequestMetrics.Label) -> [(String, String)] {
    [("method", label.method), ("route", label.pattern)]
  }

  private func writeProcess(_ process: ProcessStatistics, to page: inout MetricsPage) {
    page.family("lockstep_build_info", .gauge, "Always 1; the version is a label.")
    page.sample(1, [("version", lockstepVersion)])
    page.single("lockstep_uptime_seconds", "Seconds since the server started.", uptimeSeconds())
    page.single(
      "lockstep_log_lines_dropped_total",
      "Log lines dropped because standard error was not read in time.",
      droppedLogLines()
    )
    page.single("process_resident_memory_bytes", "Resident memory in bytes.", process.residentBytes)
    page.single("process_cpu_seconds_total", "User and system CPU time in seconds.", process.cpuSeconds)
    page.single("process_open_fds", "Open file descriptors.", process.openDescriptors)
    page.single("process_max_fds", "Limit on open file descriptors.", process.maxDescriptors)
  }
}

/// The last text, and how many new ones may be made: `burst` at once, and one more every `interval`.
private struct KeptText {
  private static let burst = 16
  /// In nanoseconds.
  private static let interval: Int64 = 250_000_000

  var text: [UInt8]?
  private var free = KeptText.burst
  private var lastGain = Int64.min

  /// Returns nil if a new text may be made, and counts it.
  mutating func textInsteadOfNew(at now: Int64) -> [UInt8]? {
    if lastGain == .min { lastGain = now }
    let gained = (now - lastGain) / Self.interval
    lastGain += gained * Self.interval
    free = Int(min(Int64(Self.burst), Int64(free) + gained))
    if free == 0, let text { return text }
    free = max(0, free - 1)
    return nil
  }
}

extension MetricsPage {
  /// Adds a metric with one sample for each value of a label.
  private mutating func each(_ name: String, _ help: String, _ label: String, _ values: [(String, Int)]) {
    family(name, name.hasSuffix("_total") ? .counter : .gauge, help)
    for (value, count) in values { sample(Double(count), [(label, value)]) }
  }

  package mutating func add(_ count: (ServerCounter) -> Int, _ rates: [RateMeter]) {
    single(
      "lockstep_http_malformed_requests_total",
      "Requests refused because the head was malformed, too large or too slow, or the chunked coding was malformed.",
      count(.malformed)
    )
    let refusals = RateMeter.Partition.allCases.map { partition in
      (partition.rawValue, rates.reduce(0) { $0 + ($1.partition == partition ? $1.refused : 0) })
    }
    each("lockstep_http_rate_limited_total", "Requests refused, by kind of rate limit.", "by", refusals)
    single("lockstep_http_connections", "Open connections.", count(.open))
    single(
      "lockstep_http_connections_accepted_total",
      "Connections accepted, including those refused because there were too many.",
      count(.accepted)
    )
    single(
      "lockstep_http_connections_refused_total",
      "Connections over the limit, refused with 503 or closed at once.",
      count(.refused)
    )
    single("lockstep_http_connections_timed_out_total", "Connections ended by a time-out.", count(.timedOut))
    single(
      "lockstep_http_accept_pauses_total",
      "Times the server stopped accepting for a while because it lacked file descriptors or memory.",
      count(.acceptPauses)
    )
    single("lockstep_http_body_bytes", "Bytes of request bodies in memory.", count(.bodyBytes))
    single("lockstep_http_output_bytes", "Bytes of output that clients have not read yet.", count(.outputBytes))
    let refused = "Requests refused with 503 because there was no memory for the response."
    single("lockstep_http_responses_refused_total", refused, count(.refusedResponses))
    single(
      "lockstep_http_slow_readers_total",
      "Connections closed because the client read too slowly, or no memory was left for its output.",
      count(.slowReaders)
    )
    single("lockstep_http_received_bytes_total", "Bytes received.", count(.received))
    single("lockstep_http_sent_bytes_total", "Bytes sent.", count(.sent))
  }

  package mutating func add(_ writer: DatabaseWriter.Statistics) {
    single("lockstep_store_writes_total", "Durable writes.", writer.units)
    single("lockstep_store_failed_writes_total", "Writes that were refused or failed.", writer.failedUnits)
    single("lockstep_store_waiting_writes", "Writes that wait for their turn.", writer.waiting)
    single("lockstep_store_failed_commits_total", "Commits that failed with all their writes.", writer.failedCommits)
    histogram("lockstep_store_commit_duration_seconds", "Duration of a commit.", writer.commitTime, unit: 1_000_000_000)
    histogram("lockstep_store_commit_writes", "Number of writes in a commit.", writer.groupSize)
    single("lockstep_store_log_pages", "Pages in the write-ahead log.", writer.logPages)
    let name = "lockstep_store_checkpoint_duration_seconds"
    histogram(name, "Duration of a checkpoint of the write-ahead log.", writer.checkpointTime, unit: 1_000_000_000)
    let failed = "Checkpoints that failed. Nothing is lost, but the write-ahead log grows."
    single("lockstep_store_failed_checkpoints_total", failed, writer.failedCheckpoints)
  }

  /// Nil: the store is in SQLite, so the server is alone.
  package mutating func add(_ feed: CommitFeed.Statistics?, holdsLease: Bool) {
    let feed = feed ?? CommitFeed.Statistics()
    single("lockstep_nodes", "Servers that use the store, with this one.", feed.otherNodes + 1)
    let lease = "1 if this node may answer from its memory, 0 if it is cut off from the database."
    single("lockstep_lease_held", lease, holdsLease ? 1 : 0)
    single("lockstep_feed_connections_total", "Connections made to follow other nodes.", feed.connections)
    single("lockstep_feed_notified", "1 if notifications of other nodes arrive.", feed.notificationsArrive ? 1 : 0)
    single("lockstep_feed_readings_total", "Times commits of other nodes were read.", feed.readings)
    single(
      "lockstep_feed_delay_seconds",
      "Age of the oldest commit in the last reading, when it was applied.",
      feed.lastDelay / .seconds(1)
    )
    single(
      "lockstep_outdated_states_total",
      "Users whose state in memory lacked commits of other nodes when a write began.",
      feed.outdatedStates
    )
  }

  package mutating func addWaiters(waiting: Int, wakings: Int) {
    single("lockstep_waiting_requests", "Requests that wait for a change.", waiting)
    single("lockstep_wakings_total", "Times a waiting request was notified.", wakings)
  }

  package mutating func addCache(users: Int, bytes: Int, loads: Int) {
    single("lockstep_cached_users", "Users whose state is in memory.", users)
    single("lockstep_cache_bytes", "Approximate bytes of memory that cached states take.", bytes)
    single("lockstep_cache_loads_total", "Times a user's state was read from the store.", loads)
  }

  package mutating func addSessions(cached: Int, _ attempts: AttemptLimiter.Metrics) {
    single("lockstep_cached_sessions", "Sessions in memory.", cached)
    let help =
      "Passwords refused, by reason: password (it or the e-mail address is wrong) or limit (too many attempts)."
    let reasons = [("password", attempts.failed), ("limit", attempts.refused)]
    each("lockstep_logins_refused_total", help, "reason", reasons)
  }

  package mutating func add(_ deliveries: DeliveryMetrics, now: Timestamp) {
    let attempts = [
      ("delivered", deliveries.delivered), ("retried", deliveries.retried), ("failed", deliveries.failed),
    ]
    let help =
      "Attempts for webhooks and mails, by result: delivered, retried (another attempt follows), or failed (the "
      + "delivery was given up)."
    each("lockstep_webhook_attempts_total", help, "result", attempts)
    let queued = "Queued deliveries to webhooks, and mails, measured every 30 seconds."
    single("lockstep_webhook_queued", queued, deliveries.queued)
    let age = deliveries.oldest.map { max(0, now.millisecondsSince1970 - $0.millisecondsSince1970) } ?? 0
    single("lockstep_webhook_oldest_seconds", "Age of the oldest queued delivery or mail.", Double(age) / 1000)
    single("lockstep_webhooks_disabled", "Webhooks that are disabled.", deliveries.disabled)
  }

  /// Without issuers, there are no such metrics.
  package mutating func add(_ issuers: [IssuerStatus]) {
    if issuers.isEmpty { return }
    let counts = issuers.map { ($0.issuer, $0.keyCount) }
    each("lockstep_issuer_keys", "Keys of an issuer that are in use.", "issuer", counts)
    each(
      "lockstep_issuer_fetch_failures_total",
      "Fetches of an issuer's keys that failed.",
      "issuer",
      issuers.map { ($0.issuer, $0.failureCount) }
    )
    family("lockstep_issuer_last_fetch_timestamp_seconds", .gauge, "When the keys of an issuer were last fetched.")
    for status in issuers {
      guard let time = status.fetchedAt else { continue }
      sample(Double(time.millisecondsSince1970) / 1000, [("issuer", status.issuer)])
    }
  }

  package mutating func addHistory(writtenBytes: Int, prunedRevisions: Int) {
    single("lockstep_history_written_bytes_total", "Bytes of history written since the server started.", writtenBytes)
    single("lockstep_history_pruned_revisions_total", "Revisions pruned since the server started.", prunedRevisions)
  }

  package mutating func add(_ size: StoreSize?, waiting pools: [(String, Int)]) {
    if let size {
      single("lockstep_store_bytes", "Size of the database file in bytes.", size.bytes)
      single("lockstep_store_log_bytes", "Size of the write-ahead log in bytes.", size.logBytes)
      if let free = size.freeBytes { single("lockstep_store_free_bytes", "Free bytes on the store's disk.", free) }
    }
    let help = "Tasks that wait for a thread, by pool: hashing, encoding, time zones, reading users."
    each("lockstep_pool_waiting", help, "pool", pools)
  }

  package mutating func add(_ forwarding: ForwardingClient) {
    single("lockstep_forwarding_running", "Requests that wait for another node.", forwarding.running)
    single("lockstep_forwarded_requests_total", "Requests that were forwarded to other nodes.", forwarding.total)
    single("lockstep_forwarding_failures_total", "Forwarded requests without a response.", forwarding.failures)
  }

  package mutating func add(_ screens: ScreenMetrics) {
    single("lockstep_screens", "Open screens.", screens.open)
    let kinds = screens.opened.sorted { $0.key < $1.key }.map { ($0.key.text, $0.value) }
    each("lockstep_screens_opened_total", "Screens opened, by kind of screen.", "screen", kinds)
    let failures = kinds.map { ($0.0, screens.failures[$0.0.exact] ?? 0) }
    let help = "Failures of screens' effects and merged streams, by kind of screen."
    each("lockstep_screen_failures_total", help, "screen", failures)
    let ended = ScreenEnd.allCases.map { ($0.rawValue, screens.ended[$0] ?? 0) }
    each("lockstep_screens_ended_total", "Screens that ended, by reason.", "reason", ended)
  }

  package mutating func add(_ backups: BackupScheduler.Metrics) {
    single("lockstep_backups_total", "Backups made since the server started.", backups.made)
    single("lockstep_backup_failures_total", "Backups that failed since the server started.", backups.failures)
    let name = "lockstep_backup_last_success_timestamp_seconds"
    single(name, "Seconds from 1970 to the newest backup; 0 without a backup.", Double(backups.last ?? 0) / 1000)
    single("lockstep_backup_last_bytes", "Size in bytes of the last backup that this node made.", backups.bytes)
    single("lockstep_backup_last_duration_seconds", "Seconds the last backup took.", backups.duration / .seconds(1))
  }
}
