import LockstepHTTP
import LockstepHTTPServer
import LockstepMaintenance
import LockstepMiddleware
import LockstepScreens

/// `GET /metrics`: what the process counted, in Prometheus' text format.
package struct MetricsRoute: Sendable {
  /// What the metrics are read from, each when somebody asks.
  package struct Sources: Sendable {
    let requests: RequestMetrics
    let server: @Sendable () -> ServerCounters
    let process: @Sendable () async -> ProcessStatistics
    /// Nil where no users are served.
    let users: (@Sendable () -> UserMetrics)?
    /// Nil where there is no store.
    let store: (@Sendable () -> StoreMetrics)?
    /// Nil where there are no screens.
    let screens: (@Sendable () -> ScreenMetrics)?
    /// Nil where no backups are made.
    let backups: (@Sendable () -> BackupScheduler.Metrics)?
    /// The limits on requests that are set.
    let rates: [RateMeter]
    let droppedLogLines: @Sendable () -> Int
    let uptimeSeconds: @Sendable () -> Double

    package init(
      requests: RequestMetrics,
      server: @escaping @Sendable () -> ServerCounters,
      process: @escaping @Sendable () async -> ProcessStatistics,
      users: (@Sendable () -> UserMetrics)?,
      store: (@Sendable () -> StoreMetrics)?,
      screens: (@Sendable () -> ScreenMetrics)?,
      backups: (@Sendable () -> BackupScheduler.Metrics)?,
      rates: [RateMeter],
      droppedLogLines: @escaping @Sendable () -> Int,
      uptimeSeconds: @escaping @Sendable () -> Double
    ) {
      self.requests = requests
      self.server = server
      self.process = process
      self.users = users
      self.store = store
      self.screens = screens
      self.backups = backups
      self.rates = rates
      self.droppedLogLines = droppedLogLines
      self.uptimeSeconds = uptimeSeconds
    }
  }

  private let sources: Sources

  package init(_ sources: Sources) {
    self.sources = sources
  }

  package static let pattern = "/metrics"

  package var route: Route {
    Route(.get, Self.pattern, summary: "Metrics in Prometheus' text format.") { _ in
      var fields = HeaderFields()
      fields.append(.contentType, "text/plain; version=0.0.4; charset=utf-8")
      fields.append(.cacheControl, "no-store")
      fields.append(contentsOf: .forBrowsers)
      return Response(status: .ok, fields: fields, body: .bytes(Array(await text().utf8)))
    }
    .described(
      RouteDescription(
        "getMetrics",
        part: "Service",
        answers: [
          RouteAnswer(.ok, "The metrics.", fields: [.cacheControl], content: [("text/plain", ["type": "string"])])
        ]
      )
    )
  }

  private func text() async -> String {
    var page = MetricsPage()
    writeRequests(to: &page)
    writeServer(to: &page)
    sources.users?().write(to: &page)
    sources.store?().write(to: &page)
    sources.screens?().write(to: &page)
    sources.backups?().write(to: &page)
    writeProcess(await sources.process(), to: &page)
    return page.text
  }

  private func writeRequests(to page: inout MetricsPage) {
    let routes = sources.requests.total()
    page.family("lockstep_http_requests_total", .counter, "Requests answered, by method, route and status.")
    for (label, counts) in routes {
      for entry in counts.byStatus.sorted(by: { $0.status < $1.status }) {
        page.sample(Double(entry.count), Self.labels(label) + [("status", String(entry.status))])
      }
    }
    page.family(
      "lockstep_http_request_duration_seconds",
      .histogram,
      "From a request's head to its answer, by method and route."
    )
    for (label, counts) in routes {
      page.histogram(
        bounds: RequestMetrics.bounds,
        counts: counts.buckets,
        sum: Double(counts.nanoseconds) / 1_000_000_000,
        Self.labels(label)
      )
    }
  }

  private static func labels(_ label: RequestMetrics.Label) -> [(String, String)] {
    [("method", label.method), ("route", label.pattern)]
  }

  private func writeServer(to page: inout MetricsPage) {
    let server = sources.server()
    page.single(
      "lockstep_http_malformed_requests_total",
      .counter,
      "Requests the engine refused: not HTTP, too large or too slow.",
      Double(server.malformed)
    )
    page.family(
      "lockstep_http_rate_limited_total",
      .counter,
      "Requests answered 429 for a limit on how often, by what is limited."
    )
    for partition in RateMeter.Partition.allCases {
      let refused = sources.rates.reduce(0) { $0 + ($1.partition == partition ? $1.refused : 0) }
      page.sample(Double(refused), [("by", partition.rawValue)])
    }
    page.single("lockstep_http_connections", .gauge, "Connections open now.", Double(server.open))
    page.single(
      "lockstep_http_connections_accepted_total",
      .counter,
      "Connections accepted.",
      Double(server.accepted)
    )
    page.single(
      "lockstep_http_connections_refused_total",
      .counter,
      "Connections answered 503 for the limit on connections.",
      Double(server.refused)
    )
    page.single(
      "lockstep_http_connections_timed_out_total",
      .counter,
      "Connections ended by a time-out.",
      Double(server.timedOut)
    )
    page.single(
      "lockstep_http_accept_pauses_total",
      .counter,
      "Times that accepting paused for want of descriptors or memory.",
      Double(server.acceptPauses)
    )
    page.single(
      "lockstep_http_body_bytes",
      .gauge,
      "Bytes of request bodies held in memory now.",
      Double(server.bodyBytes)
    )
    page.single(
      "lockstep_http_output_bytes",
      .gauge,
      "Bytes of output held in memory now until clients take them.",
      Double(server.outputBytes)
    )
    page.single(
      "lockstep_http_responses_refused_total",
      .counter,
      "Requests answered 503 because there was no memory for the response.",
      Double(server.refusedResponses)
    )
    page.single(
      "lockstep_http_slow_readers_total",
      .counter,
      "Connections closed because the client took its output too slowly.",
      Double(server.slowReaders)
    )
    page.single("lockstep_http_received_bytes_total", .counter, "Bytes received.", Double(server.received))
    page.single("lockstep_http_sent_bytes_total", .counter, "Bytes sent.", Double(server.sent))
  }

  private func writeProcess(_ process: ProcessStatistics, to page: inout MetricsPage) {
    page.family("lockstep_build_info", .gauge, "Always 1; the version is a label.")
    page.sample(1, [("version", lockstepVersion)])
    page.single("lockstep_uptime_seconds", .gauge, "Seconds since the server started.", sources.uptimeSeconds())
    page.single(
      "lockstep_log_lines_dropped_total",
      .counter,
      "Log lines thrown away because nobody read them in time.",
      Double(sources.droppedLogLines())
    )
    page.single(
      "process_resident_memory_bytes",
      .gauge,
      "Resident memory in bytes.",
      Double(process.residentBytes)
    )
    page.single(
      "process_cpu_seconds_total",
      .counter,
      "User and system CPU time in seconds.",
      process.cpuSeconds
    )
    page.single("process_open_fds", .gauge, "Open file descriptors.", Double(process.openDescriptors))
    page.single("process_max_fds", .gauge, "The most file descriptors.", Double(process.maxDescriptors))
  }
}
