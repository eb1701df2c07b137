import LockstepHTTP
import LockstepHTTPServer
import LockstepMiddleware

/// `GET /metrics`: the server's metrics in Prometheus' text format.
package struct MetricsRoute: Sendable {
  package static let pattern = "/metrics"

  private let requests: RequestMetrics
  private let count: @Sendable (ServerCounter) -> Int
  private let rates: [RateMeter]
  /// Each writes the metrics of a part of the server: users, store, screens, backups.
  private let parts: [@Sendable (inout MetricsPage) -> Void]
  private let droppedLogLines: @Sendable () -> Int
  private let uptimeSeconds: @Sendable () -> Double

  package init(
    requests: RequestMetrics,
    count: @escaping @Sendable (ServerCounter) -> Int,
    rates: [RateMeter],
    parts: [@Sendable (inout MetricsPage) -> Void],
    droppedLogLines: @escaping @Sendable () -> Int,
    uptimeSeconds: @escaping @Sendable () -> Double
  ) {
    self.requests = requests
    self.count = count
    self.rates = rates
    self.parts = parts
    self.droppedLogLines = droppedLogLines
    self.uptimeSeconds = uptimeSeconds
  }

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
        answers: [RouteResponse(.ok, "The metrics.", fields: [.cacheControl], content: [("text/plain", .textSchema)])]
      )
    )
  }

  private func text() async -> String {
    var page = MetricsPage()
    writeRequests(to: &page)
    writeServer(to: &page)
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

  private func writeServer(to page: inout MetricsPage) {
    page.single(
      "lockstep_http_malformed_requests_total",
      "Requests that were not HTTP, too large or slow.",
      count(.malformed)
    )
    page.family("lockstep_http_rate_limited_total", .counter, "Requests refused by a rate limit, by its kind.")
    for partition in RateMeter.Partition.allCases {
      let refused = rates.reduce(0) { $0 + ($1.partition == partition ? $1.refused : 0) }
      page.sample(Double(refused), [("by", partition.rawValue)])
    }
    page.single("lockstep_http_connections", "Open connections.", count(.open))
    page.single("lockstep_http_connections_accepted_total", "Connections accepted.", count(.accepted))
    page.single("lockstep_http_connections_refused_total", "Connections over the limit, answered 503.", count(.refused))
    page.single("lockstep_http_connections_timed_out_total", "Connections ended by a time-out.", count(.timedOut))
    page.single(
      "lockstep_http_accept_pauses_total",
      "Pauses in accepting: no descriptors or memory.",
      count(.acceptPauses)
    )
    page.single("lockstep_http_body_bytes", "Bytes of request bodies in memory.", count(.bodyBytes))
    page.single("lockstep_http_output_bytes", "Bytes of output that clients have not taken yet.", count(.outputBytes))
    let refused = "Requests answered 503 because there was no memory for the response."
    page.single("lockstep_http_responses_refused_total", refused, count(.refusedResponses))
    page.single("lockstep_http_slow_readers_total", "Connections closed: output taken too slowly.", count(.slowReaders))
    page.single("lockstep_http_received_bytes_total", "Bytes received.", count(.received))
    page.single("lockstep_http_sent_bytes_total", "Bytes sent.", count(.sent))
  }

  private func writeProcess(_ process: ProcessStatistics, to page: inout MetricsPage) {
    page.family("lockstep_build_info", .gauge, "Always 1; the version is a label.")
    page.sample(1, [("version", lockstepVersion)])
    page.single("lockstep_uptime_seconds", "Seconds since the server started.", uptimeSeconds())
    page.single("lockstep_log_lines_dropped_total", "Log lines dropped: not read in time.", droppedLogLines())
    page.single("process_resident_memory_bytes", "Resident memory in bytes.", process.residentBytes)
    page.single("process_cpu_seconds_total", "User and system CPU time in seconds.", process.cpuSeconds)
    page.single("process_open_fds", "Open file descriptors.", process.openDescriptors)
    page.single("process_max_fds", "Limit on open file descriptors.", process.maxDescriptors)
  }
}
