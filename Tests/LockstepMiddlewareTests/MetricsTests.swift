import LockstepHTTP
import LockstepTestSupport
import Testing

@testable import LockstepAccounts
@testable import LockstepCollections
@testable import LockstepMiddleware
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport

@Suite("The metrics describe the server in Prometheus' text format", .timeLimit(.minutes(10)))
struct MetricsTests {
  private func page(_ gateway: StubbedServer) async throws -> PrometheusText {
    try PrometheusText(try await gateway.get("/metrics").text)
  }

  @Test("The page has the type of the format and is not stored")
  func type() async throws {
    try await StubbedServer.run { gateway in
      let response = try await gateway.get("/metrics")
      #expect(response.status == 200)
      #expect(response.field("Content-Type") == "text/plain; version=0.0.4; charset=utf-8")
      #expect(response.field("Cache-Control") == "no-store")
    }
  }

  @Test("There are at least a dozen families, each once, with help and type, and no series is repeated")
  func format() async throws {
    try await StubbedServer.run { gateway in
      for (method, target) in [("GET", "/"), ("HEAD", "/"), ("GET", "/x"), ("POST", "/"), ("GET", "/problems/%22%0A")] {
        _ = try await gateway.ask(method, target)
      }
      let page = try await page(gateway)
      #expect(page.families.count >= 12)
      for family in page.families {
        #expect(!family.type.isEmpty && family.help.hasSuffix("."), "\(family.name)")
        // No screen was opened.
        #expect(!family.samples.isEmpty || family.name.hasPrefix("lockstep_screen"), "\(family.name)")
        if family.type == "counter" {
          #expect(family.name.hasSuffix("_total"))
        }
        let series = family.samples.map { sample in
          sample.name + sample.labels.map { " \($0.name)=\($0.value)" }.sorted().joined()
        }
        #expect(Set(series).count == series.count, "\(family.name)")
        for sample in family.samples {
          #expect(Set(sample.labels.map(\.name)).count == sample.labels.count)
          #expect(sample.value >= 0 && sample.value.isFinite)
        }
      }
    }
  }

  @Test("Requests are counted by route and status, and requests without a route share one series")
  func requests() async throws {
    try await StubbedServer.run { gateway in
      gateway.store.setBroken(true)
      let asked: [(method: String, target: String, count: Int)] = [
        ("GET", "/healthz", 3), ("HEAD", "/healthz", 2), ("GET", "/readyz", 1), ("GET", "/problems/conflict", 1),
        ("GET", "/problems/none", 2), ("GET", "/a", 1), ("GET", "/b", 1), ("POST", "/", 1), ("OPTIONS", "/", 1),
      ]
      for (method, target, count) in asked {
        for _ in 0..<count { _ = try await gateway.ask(method, target) }
      }
      let family = try #require(try await page(gateway).family("lockstep_http_requests_total"))
      let counts = family.samples.map { sample in
        "\(sample.label("method") ?? "-") \(sample.label("route") ?? "-") \(sample.label("status") ?? "-"): "
          + "\(Int(sample.value))"
      }
      #expect(
        Set(counts) == [
          "GET /healthz 200: 5", "GET /readyz 503: 1", "GET /problems/{slug} 200: 1", "GET /problems/{slug} 404: 2",
          " unmatched 404: 2", " unmatched 405: 1", " unmatched 204: 1",
        ]
      )
    }
  }

  @Test("Each histogram is cumulative, its last bucket has all requests, and its count equals the request counter")
  func histogram() async throws {
    try await StubbedServer.run { gateway in
      for target in ["/", "/", "/healthz", "/nowhere"] { _ = try await gateway.get(target) }
      let page = try await page(gateway)
      let requests = try #require(page.family("lockstep_http_requests_total"))
      let durations = try #require(page.family("lockstep_http_request_duration_seconds"))
      for route in Set(requests.samples.compactMap { $0.label("route") }) {
        let count = requests.samples.filter { $0.label("route") == route }.reduce(0) { $0 + $1.value }
        let samples = durations.samples.filter { $0.label("route") == route }
        let buckets = samples.filter { $0.name.hasSuffix("_bucket") }
        let bounds = buckets.compactMap { $0.label("le").flatMap { Double($0) } }
        #expect(bounds == RequestMetrics.bounds + [.infinity])
        #expect(buckets.map(\.value) == buckets.map(\.value).sorted())
        #expect(buckets.last?.value == count)
        #expect(samples.filter { $0.name.hasSuffix("_count") }.map(\.value) == [count])
        // The clock stands still, so nothing took any time.
        #expect(samples.filter { $0.name.hasSuffix("_sum") }.map(\.value) == [0])
        #expect(buckets.first?.value == count)
      }
    }
  }

  /// Times in nanoseconds, and the bound of the first bucket that counts each one.
  private static let durations: [(nanoseconds: Int64, bound: Double)] = [
    (0, 0.000_1), (100_000, 0.000_1), (100_001, 0.000_25), (1_000_000, 0.001), (1_000_001, 0.002_5),
    (59_999_999_999, 60), (60_000_000_000, 60), (60_000_000_001, .infinity), (.max / 4, .infinity),
  ]

  private static func route(_ pattern: String) -> Route {
    Route(.get, pattern, summary: "") { _ in .response(Response(status: .noContent)) }
  }

  @Test("A bucket includes its bound", arguments: durations)
  func bucket(nanoseconds: Int64, bound: Double) throws {
    let metrics = RequestMetrics(loops: 2)
    let table = try RouteTable([Self.route("/")], metrics)
    metrics.shard(ofLoop: 1).record(route: table.matched[0], status: .ok, nanoseconds: nanoseconds)
    let counts = metrics.total().first?.counts.durations.counts
    #expect(counts?.firstIndex(of: 1).map { (RequestMetrics.bounds + [.infinity])[$0] } == bound)
  }

  @Test("The counts of all event loops are added, and routes without requests are left out")
  func loops() throws {
    let metrics = RequestMetrics(loops: 2)
    let routes = try RouteTable(["/a", "/b", "/c"].map(Self.route), metrics).matched
    metrics.shard(ofLoop: 0).record(route: routes[0], status: .ok, nanoseconds: 1)
    metrics.shard(ofLoop: 1).record(route: routes[0], status: .ok, nanoseconds: 2)
    metrics.shard(ofLoop: 1).record(route: routes[2], status: .notFound, nanoseconds: 3)
    metrics.shard(ofLoop: 2).record(route: nil, status: .notFound, nanoseconds: 4)
    let total = metrics.total()
    #expect(total.map(\.label.pattern) == ["/a", "/c", "unmatched"])
    #expect(total.map(\.counts.durations.sum) == [3, 3, 4])
    #expect(total[0].counts.byStatus.map(\.count) == [2])
  }

  @Test("The server, the process and the log have metrics")
  func figures() async throws {
    try await StubbedServer.run { gateway in
      let first = try await page(gateway)
      #expect(first.value("lockstep_http_connections") == 1)
      #expect(first.value("lockstep_http_connections_accepted_total") == 1)
      #expect(first.value("lockstep_log_lines_dropped_total") == 7)
      #expect(first.value("lockstep_uptime_seconds") == 0)
      #expect(first.family("lockstep_build_info")?.samples.first?.label("version") == lockstepVersion)
      #expect(try #require(first.value("process_resident_memory_bytes")) > 1_000_000)
      #expect(try #require(first.value("process_cpu_seconds_total")) > 0)
      #expect(try #require(first.value("process_open_fds")) >= 6)
      let most = try #require(first.value("process_max_fds"))
      #expect(try #require(first.value("process_open_fds")) < most)

      gateway.time.advance(by: 90.5)
      let malformed = try gateway.connect()
      try await malformed.send("nonsense\r\n\r\n")
      _ = try await malformed.response()
      malformed.close()
      let second = try await page(gateway)
      #expect(second.value("lockstep_uptime_seconds") == 90.5)
      #expect(second.value("lockstep_http_malformed_requests_total") == 1)
      #expect(second.value("lockstep_http_connections_accepted_total") == 3)
      for name in ["lockstep_http_received_bytes_total", "lockstep_http_sent_bytes_total"] {
        #expect(try #require(second.value(name)) > (try #require(first.value(name))))
      }
    }
  }

  @Test("A label's value cannot end the label or the line")
  func escaping() throws {
    var page = MetricsPage()
    page.family("a_total", .counter, "Help.")
    let value = "quote \" backslash \\ line\nend \\n \r\n}"
    page.sample(1, [("label", value)])
    let parsed = try PrometheusText(page.text)
    #expect(parsed.family("a_total")?.samples.first?.label("label") == value)
  }
}

@Suite("The metrics of users and their store", .timeLimit(.minutes(10)))
struct UserMetricsTests {
  @Test("There are metrics of writes, commits, waiters and states in memory")
  func users() async throws {
    try await ServerFixture.run { users in
      let phone = try await users.signUp()
      let before = try PrometheusText(try await phone.get("/metrics").text)
      _ = try await phone.put("/v1/defaults/standard/a", "1")
      let tag = try await phone.get("/v1/favorites").field("ETag") ?? ""
      let waiter = try await phone.waiting("/v1/favorites?wait=30", ["If-None-Match: \(tag)"])
      await eventually { users.waiting == 1 }
      _ = try await phone.put("/v1/defaults/standard/a", "2")
      let after = try PrometheusText(try await phone.get("/metrics").text)
      func value(_ name: String, _ page: PrometheusText) -> Double { page.family(name)?.samples.first?.value ?? -1 }
      for (name, growth) in [
        ("lockstep_store_writes_total", 2.0), ("lockstep_store_failed_writes_total", 0),
        ("lockstep_waiting_requests", 1), ("lockstep_wakings_total", 1), ("lockstep_cached_users", 1),
      ] {
        #expect(value(name, after) - value(name, before) == growth, "\(name)")
      }
      #expect(value("lockstep_cache_bytes", after) > 0)
      let sizes = try #require(after.family("lockstep_store_commit_writes"))
      #expect(sizes.type == "histogram")
      let commits = sizes.samples.first { $0.name.hasSuffix("_count") }?.value ?? 0
      let written = sizes.samples.first { $0.name.hasSuffix("_sum") }?.value ?? 0
      #expect(commits > 0 && written >= commits)
      _ = waiter
    }
  }

  @Test("There are metrics of refused passwords, loaded states, history, files and queues")
  func operating() async throws {
    try await ServerFixture.run({ $0.accounts.attempts.perKnownNetwork = RateLimit(requests: 1, seconds: 60, burst: 2) }
    ) {
      users in
      let phone = try await users.signUp()
      for password in ["wrong one", "wrong two", "wrong three"] {
        _ = try await users.post("/v1/sessions", #"{"email":"ada@example.com","password":"\#(password)"}"#)
      }
      _ = try await users.ask("DELETE", "/v1/me", body: Array(#"{"password":"wrong"}"#.utf8), token: phone.token)
      _ = try await phone.put("/v1/defaults/standard/a", "1")
      let page = try PrometheusText(try await phone.get("/metrics").text)
      func values(_ name: String) -> [String] {
        page.family(name)?.samples.map { "\($0.labels.first?.value ?? "") \($0.value)" } ?? []
      }
      #expect(values("lockstep_logins_refused_total") == ["password 3.0", "limit 1.0"])
      #expect(values("lockstep_cache_loads_total") == [" 1.0"])
      #expect(values("lockstep_cached_sessions") == [" 1.0"])
      #expect(
        values("lockstep_pool_waiting").map { $0.split(separator: " ")[0] } == ["hash", "encode", "zone", "read"]
      )
      #expect(values("lockstep_history_pruned_revisions_total") == [" 0.0"])
      let written = try await users.rows("SELECT max(written) FROM journal").first?.first
      #expect(page.value("lockstep_history_written_bytes_total") == written.flatMap { Double($0) })
      if TestedStore.isSQLite {
        #expect(page.value("lockstep_store_bytes") ?? 0 > 0)
        #expect(page.value("lockstep_store_log_bytes") ?? 0 > 0)
        #expect(page.value("lockstep_store_free_bytes") != nil)
      }
      try await users.restart()
      for _ in 1...3 { _ = try await phone.get("/v1/favorites") }
      let next = try PrometheusText(try await phone.get("/metrics").text)
      #expect(next.value("lockstep_cache_loads_total") == 1)
    }
  }
}
