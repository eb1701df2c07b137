import LockstepHTTP
import LockstepJSON
import LockstepTestSupport
import LockstepThreading
import Testing

@testable import LockstepComposition
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport
@testable import LockstepStore
@testable import LockstepWebhooks

@Suite("Webhooks", .timeLimit(.minutes(10)))
struct WebhookTests {
  private static let path = "/v1/admin/webhooks"

  private static func body(_ url: String, _ events: [String], secret: WebhookSecret? = nil) -> String {
    var body: JSONObject = ["url": .string(url), "events": .array(events.map(JSON.string))]
    if let secret { body["secret"] = .string(secret.text) }
    return JSON.object(body).description
  }

  @Test("Only one response shows a new webhook's secret, and its writes take preconditions")
  func managing() async throws {
    try await ServerFixture.administered { users in
      let body = Self.body("https://a.example/x", ["user.erased", "state.changed"])
      let created = try await users.admin.put("\(Self.path)/main", body)
      #expect(created.status == 201 && created.field("Location") == "\(Self.path)/main")
      let secret = try #require(created.json["secret"]?.stringValue)
      _ = try WebhookSecret(secret)
      let shown = try await users.admin.get("\(Self.path)/main")
      #expect(shown.json["events"] == ["state.changed", "user.erased"])
      #expect(shown.json["queued"] == 0 && shown.json["disabledAt"] == nil)
      #expect(!shown.text.contains("whsec_") && shown.tag == created.tag)
      #expect(try await users.admin.get(Self.path).json["items"] == [shown.json])
      let unchanged = try await users.admin.put("\(Self.path)/main", shown.text)
      #expect(unchanged.status == 200 && unchanged.tag == shown.tag && unchanged.json["secret"] == nil)
      let stale = try await users.admin.put("\(Self.path)/main", body, ["If-None-Match: *"])
      #expect(stale.problem == ProblemSummary("precondition-failed") && stale.json["current"] == shown.json)
      let other = Self.body("https://b.example/", ["user.created"])
      let matched = try await users.admin.put("\(Self.path)/main", other, ["If-Match: \"\(shown.tag ?? "")\""])
      #expect(matched.status == 200 && matched.tag != shown.tag)
      // Another secret gives another tag.
      let rotated = Self.body("https://b.example/", ["user.created"], secret: WebhookSecret.make())
      #expect(try await users.admin.put("\(Self.path)/main", rotated).tag != matched.tag)
      let missing = try await users.admin.put("\(Self.path)/none", other, ["If-Match: *"])
      #expect(missing.problem == ProblemSummary("precondition-failed"))
      #expect(try await users.admin.delete("\(Self.path)/main", ["If-Match: \"x\""]).status == 412)
      #expect(try await users.admin.delete("\(Self.path)/main").status == 204)
      for path in ["\(Self.path)/main", "\(Self.path)/main/deliveries"] {
        #expect(try await users.admin.get(path).problem == ProblemSummary("not-found"))
      }
      #expect(try await users.admin.delete("\(Self.path)/main").problem == ProblemSummary("not-found"))
    }
  }

  @Test("A PUT that is repeated with its key gets 409, and no stored response contains the secret")
  func idempotency() async throws {
    try await ServerFixture.administered { users in
      let body = Self.body("https://a.example/x", ["state.changed"])
      let key = ["Idempotency-Key: k1"]
      #expect(try await users.admin.put("\(Self.path)/main", body, key).status == 201)
      let again = try await users.admin.put("\(Self.path)/main", body, key)
      #expect(again.problem == ProblemSummary("conflict") && again.field("Idempotency-Replayed") == "true")
      #expect(!again.text.contains("whsec_"))
      let keys = try await users.storedResponses()
      #expect(!keys.isEmpty && !keys.contains { $0.contains("whsec_") })
      let deletion = ["Idempotency-Key: k2"]
      #expect(try await users.admin.delete("\(Self.path)/main", deletion).status == 204)
      #expect(try await users.admin.delete("\(Self.path)/main", deletion).status == 204)
    }
  }

  @Test("A PUT lists each fault, requires the scope admin, and refuses a 21st webhook")
  func faults() async throws {
    try await ServerFixture.administered { users in
      let body = #"{"url":"ftp://x","events":["state.changed","nothing"],"secret":"whsec_AAAA","extra":1}"#
      let faults = try await users.admin.put("\(Self.path)/main", body)
      let pointers = faults.json["errors"]?.arrayValue?.compactMap { $0["pointer"]?.stringValue } ?? []
      #expect(faults.status == 422 && Set(pointers) == ["/url", "/events/1", "/secret", "/extra"])
      let good = Self.body("https://a.example/", ["state.changed"])
      for url in ["https://u:p@a.example/", "https://a.example/#x", "a.example", ""] {
        #expect(try await users.admin.put("\(Self.path)/main", Self.body(url, ["state.changed"])).status == 422)
      }
      #expect(try await users.admin.put("\(Self.path)/Main", good).problem == ProblemSummary("invalid-parameter"))
      let reader = try await users.service("reader", "read", "write", "users")
      #expect(try await reader.put("\(Self.path)/main", good).status == 403)
      #expect(try await reader.get(Self.path).status == 200)
      for number in 0..<20 { #expect(try await users.admin.put("\(Self.path)/w\(number)", good).status == 201) }
      #expect(try await users.admin.put("\(Self.path)/main", good).problem == ProblemSummary("conflict"))
    }
  }

  @Test("The events of a user from sign-up to erasure arrive signed and in order, one for each revision")
  func life() async throws {
    let receiver = ReceivedDeliveries()
    try await receiver.run { url in
      try await ServerFixture.withWebhooks { users in
        let all = WebhookEventType.ofWebhooks.map(\.rawValue)
        let put = try await users.admin.put("\(Self.path)/main", Self.body(url, all, secret: receiver.secret))
        #expect(put.status == 201 && put.json["secret"] == nil)
        let device = try await users.signUp()
        let other = try await users.logIn()
        try await device.addFavorites("a", "b")
        let several = try await device.post(
          "/v1/actions",
          #"{"actions":[{"module":"favorites","type":"remove","payload":{"id":"a"}},"#
            + #"{"module":"defaults","type":"set","payload":{"suite":"app","key":"k","value":1}}]}"#
        )
        #expect(several.status == 200, "\(several.text)")
        // A write that changes nothing, or is refused, is no event.
        #expect(try await device.put("/v1/defaults/app/k", "1").status == 200)
        #expect(try await device.put("/v1/favorites/x", #"{"title":1}"#).status == 422)
        #expect(try await other.delete("/v1/sessions/current").status == 204)
        let revision = try #require(try await device.get("/v1/favorites").field("Revision").flatMap { Int($0) })
        let erased = try await device.ask("DELETE", "/v1/me", #"{"password":"correct horse"}"#)
        #expect(erased.status == 204, "\(erased.text)")
        users.deliver()
        await eventually {
          users.deliver()
          return receiver.types.last == "user.erased"
        }
        let states = receiver.deliveries.filter { $0.type == "state.changed" }
        // The erasure deletes what is still queued.
        #expect(states.count <= revision)
        #expect(states.map { $0.data["revision"]?.intValue } == Array(1...revision).prefix(states.count).map { $0 })
        let last = states.last { $0.data["collections"]?.arrayValue?.count == 2 }
        if states.count == revision { #expect(last?.data["collections"] == ["favorites", "defaults/app"]) }
        #expect(receiver.deliveries.allSatisfy { $0.isSigned && $0.data["user"]?.stringValue == device.user })
        #expect(Set(receiver.deliveries.map(\.id)).count == receiver.deliveries.count)
        let rows = try await users.deliveriesInStore()
        #expect(rows == receiver.types.filter { $0 == "user.erased" })
      }
    }
  }

  @Test("Each revision of a group of commits is one event, with the names of its collections")
  func groups() async throws {
    let receiver = ReceivedDeliveries()
    try await receiver.run { url in
      try await ServerFixture.withWebhooks { users in
        let first = try await users.signUp("first")
        try await first.addFavorites("before")
        let body = Self.body(url, ["state.changed", "session.ended"], secret: receiver.secret)
        #expect(try await users.admin.put("\(Self.path)/main", body).status == 201)
        let (devices, writes) = (4, 25)
        var all: [Device] = [first]
        for number in 1..<devices { all.append(try await users.signUp("user\(number)")) }
        try await withThrowingTaskGroup(of: Void.self) { group in
          for device in all {
            group.addTask {
              for number in 0..<writes { _ = try await device.put("/v1/defaults/app/k\(number)", "\(number)") }
            }
          }
          try await group.waitForAll()
        }
        await eventually { receiver.deliveries.count == devices * writes }
        for device in all {
          let own = receiver.deliveries.filter { $0.data["user"]?.stringValue == device.user }
          let start = device.user == first.user ? 2 : 1
          #expect(own.map { $0.data["revision"]?.intValue } == Array(start..<start + writes))
          #expect(own.allSatisfy { $0.data["collections"] == ["defaults/app"] && $0.isSigned })
        }
        try await eventually { try await users.deliveriesInStore(status: .queued).isEmpty }
        // After the deletion, nothing is written any more.
        #expect(try await users.admin.delete("\(Self.path)/main").status == 204)
        await eventually {
          users.running.withLock { $0?.services.users.storage.writer.stateEventFlag.hasStateEvents } == false
        }
        try await first.addFavorites("after")
        #expect(try await users.deliveriesInStore(status: .queued).isEmpty)
      }
    }
  }

  @Test("Deliveries are listed in pages, and can be sent again")
  func deliveries() async throws {
    let receiver = ReceivedDeliveries()
    try await receiver.run { url in
      try await ServerFixture.withWebhooks { users in
        let body = Self.body(url, ["state.changed"], secret: receiver.secret)
        _ = try await users.admin.put("\(Self.path)/main", body)
        let device = try await users.signUp()
        for number in 0..<5 { try await device.addFavorites("x\(number)") }
        await eventually { receiver.deliveries.count == 5 }
        let path = "\(Self.path)/main/deliveries"
        try await eventually {
          try await users.admin.get("\(path)?status=delivered").json["items"]?.arrayValue?.count == 5
        }
        var (ids, next): ([String], String?) = ([], "\(path)?limit=2&status=delivered")
        while let target = next {
          let page = try await users.admin.get(target)
          ids += page.json["items"]?.arrayValue?.compactMap { $0["id"]?.stringValue } ?? []
          next = page.field("Link").map { String($0.dropFirst().prefix { $0 != ">" }) }
        }
        #expect(ids == receiver.deliveries.map(\.id).reversed())
        let newest = try #require(try await users.admin.get(path).json["items"]?[0])
        #expect(newest["attempts"] == 1 && newest["lastStatus"] == 204 && newest["user"]?.stringValue == device.user)
        let again = try await users.admin.post("\(path)/\(ids[4])/resend", "", ["Idempotency-Key: again"])
        #expect(again.status == 202)
        #expect(try await users.admin.post("\(path)/\(ids[4])/resend", "", ["Idempotency-Key: again"]).status == 202)
        await eventually { receiver.deliveries.count == 6 }
        #expect(receiver.deliveries.last?.id == ids[4])
        let unknown = "00000000-0000-7000-8000-000000000000"
        #expect(try await users.admin.post("\(path)/\(unknown)/resend", "").problem == ProblemSummary("not-found"))
        #expect(try await users.admin.post("\(path)/x/resend", "").problem == ProblemSummary("not-found"))
        #expect(try await users.admin.get("\(path)?status=lost").problem == ProblemSummary("invalid-parameter"))
      }
    }
  }

  @Test(
    "Without --webhook-allow-private, a URL with a private address is refused, however it is written",
    arguments: [
      "127.0.0.1:8080", "127.1", "0x7f.1", "2130706433", "10.0.0.7", "192.168.0.1", "169.254.169.254", "0.0.0.0",
      "[::1]", "[::]", "[::ffff:10.0.0.1]", "[fe80::1]", "[fd00::1]:80", "localhost", "LOCALHOST.", "a.localhost:81",
    ]
  )
  func privateURL(place: String) async throws {
    try await ServerFixture.administered { users in
      let refused = try await users.admin.put("\(Self.path)/main", Self.body("http://\(place)/x", ["state.changed"]))
      #expect(refused.problem == ProblemSummary("validation-failed", "/url"))
      #expect(refused.text.contains("--webhook-allow-private"))
    }
  }

  @Test("Without --webhook-allow-private, no request goes to a private address, and the delivery says why")
  func privateAddress() async throws {
    let receiver = ReceivedDeliveries()
    try await receiver.run { url in
      try await ServerFixture.administered { users in
        _ = try await users.admin.put("\(Self.path)/main", Self.body("https://a.example/", ["state.changed"]))
        // It may have been added while the option was set, or its name has another address now.
        _ = try await users.rows("UPDATE webhooks SET url = '\(url)'")
        try await users.signUp().addFavorites("x")
        try await eventually {
          let items = try await users.admin.get("\(Self.path)/main/deliveries?status=queued").json["items"]
          return items?[0]?["lastError"]?.stringValue?.contains("is not a public address") == true
        }
        let shown = try await users.admin.get("\(Self.path)/main").json
        #expect(shown["queued"] == 1 && shown["failingSince"] != nil)
        #expect(receiver.deliveries.isEmpty)
      }
    }
  }

  @Test("Events of an operator's command and of the time before a restart are delivered afterwards")
  func restart() async throws {
    let receiver = ReceivedDeliveries()
    try await receiver.run { url in
      try await ServerFixture.withWebhooks { users in
        _ = try await users.admin.put(
          "\(Self.path)/main",
          Self.body(url, ["user.created", "session.ended"], secret: receiver.secret)
        )
        let device = try await users.signUp()
        await users.stop()
        try users.runCommand(.disable, of: device)
        try await users.restart()
        await eventually {
          users.deliver()
          return receiver.types == ["user.created", "session.ended"]
        }
        #expect(receiver.deliveries.last?.data["session"]?.stringValue == device.session)
      }
    }
  }

  @Test(
    "On several servers, each event goes out once, and a new webhook gets what any server commits afterwards",
    .enabled("LOCKSTEP_TEST_POSTGRESQL names no PostgreSQL server") { TestedStore.anyServer != nil }
  )
  func fleet() async throws {
    let receiver = ReceivedDeliveries()
    try await receiver.run { url in
      try await TestDatabase.serve(nodes: 2) {
        $1.administratorToken = ServerFixture.administrator
        $1.webhookAllowPrivate = true
      } _: { servers, _ in
        let device = try await servers[0].signUp()
        let devices = [device, device.at(servers[1])]
        let put = try await servers[0].admin.put(
          "\(Self.path)/main",
          Self.body(url, ["state.changed"], secret: receiver.secret)
        )
        #expect(put.status == 201)
        for number in 0..<60 {
          // On a slow machine, a server has no lease for a moment.
          let device = devices[(number + 1) % 2]
          try await eventually { try await device.put("/v1/defaults/app/k\(number)", "1").status != 503 }
        }
        await eventually {
          for server in servers { server.deliver() }
          return receiver.deliveries.count >= 60
        }
        #expect(receiver.deliveries.map { $0.data["revision"]?.intValue } == Array(1...60))
        // The receiver has the last delivery before its server stores the result.
        try await eventually { try await servers[1].admin.get("\(Self.path)/main").json["queued"] == 0 }
      }
    }
  }
}

extension ServerFixture {
  /// The bodies of the responses that the store keeps for keys of administrators.
  fileprivate func storedResponses() async throws -> [String] {
    let readers = try #require(running.withLock { $0?.services.users.storage.store.readers })
    return try await readers.read { connection in
      try connection.all("SELECT body FROM outsider_keys") { row in
        String(decoding: try row[0] as [UInt8]? ?? [], as: UTF8.self)
      }
    }
  }

  /// The types of the stored deliveries.
  fileprivate func deliveriesInStore(status: DeliveryStatus? = nil) async throws -> [String] {
    let readers = try #require(running.withLock { $0?.services.users.storage.store.readers })
    return try await readers.read { connection in
      try connection.all("SELECT type, status FROM deliveries ORDER BY number") {
        (try $0[0] as String, try $0[1] as Int)
      }
      .filter { status == nil || $0.1 == status?.rawValue }.map(\.0)
    }
  }

  /// Runs an operator's command without a server.
  fileprivate func runCommand(_ work: AdminCommand.Work, of device: Device) throws {
    let store =
      if let database = configuration.store { try DurableStore(postgreSQL: database, time: time.serverTime) } else {
        try DurableStore(path: configuration.data, time: time.serverTime)
      }
    defer { store.close() }
    let (user, now) = (try #require(UserID(device.user)), time.serverTime.now())
    _ = try store.write { try AdminCommand(work, user).run(in: $0, at: now) }
  }
}
