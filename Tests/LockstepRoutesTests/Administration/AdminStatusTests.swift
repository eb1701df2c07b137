import LockstepJSON
import LockstepTestSupport
import Testing

import LockstepScreens

@testable import LockstepComposition
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport

@Suite("The status of a running server for administrators", .timeLimit(.minutes(10)))
struct AdminStatusTests {
  @Test("The list of waits has each long poll with its user, its resource and its client, oldest first")
  func waits() async throws {
    try await ServerFixture.administered { users in
      let (ada, bob) = (try await users.signUp(), try await users.signUp("bob"))
      var clients: [RawClient] = []
      for (device, path) in [(ada, "/v1/favorites"), (bob, "/v1/defaults/standard")] {
        let tag = try await device.get(path).field("ETag") ?? ""
        clients.append(try await device.waiting("\(path)?wait=50", ["If-None-Match: \(tag)", "User-Agent: app/1"]))
        await eventually { users.waiting == clients.count }
        users.advance(by: 1)
      }
      let screen = try await ada.post("/v1/reactors/workingHistory", "{}")
      let href = screen.json["href"]?.stringValue ?? ""
      let encoded = href.replacing("/reactors/", with: "/%72eactors/")
      clients.append(try await ada.waiting("\(encoded)?wait=50", ["If-None-Match: \(screen.field("ETag") ?? "")"]))
      await eventually { users.waitingForScreens == 1 }
      users.advance(by: 1)
      let end = try await users.admin.get("/v1/admin/journal?since=now").json["cursor"]?.stringValue ?? ""
      clients.append(try await users.admin.waiting("/v1/admin/journal?since=\(end)&wait=50"))
      await eventually { users.following == 1 }
      let all = try await users.admin.get("/v1/admin/waits").json
      let items = all["items"]?.arrayValue ?? []
      #expect(all["count"] == 4)
      #expect(items.map { $0["user"]?.stringValue } == [ada.user, bob.user, ada.user, nil])
      // The id that drives a screen is not shown.
      let resources = [
        "/v1/favorites", "/v1/defaults/standard", "/v1/%72eactors/workingHistory/{id}", "/v1/admin/journal",
      ]
      #expect(items.map { $0["resource"]?.stringValue } == resources)
      #expect(items.map { $0["userAgent"]?.stringValue } == ["app/1", "app/1", nil, nil])
      #expect(items.allSatisfy { $0["address"] == "127.0.0.1" })
      #expect((items[0]["since"]?.stringValue ?? "") < (items[1]["since"]?.stringValue ?? ""))

      let page = try await users.admin.get("/v1/admin/waits?limit=2")
      #expect(page.field("Link") == "</v1/admin/waits?limit=2&after=2>; rel=\"next\"")
      #expect(try await users.admin.get("/v1/admin/waits?limit=2&after=2").json["items"] == [items[2], items[3]])
      #expect(try await users.admin.get("/v1/admin/waits?after=99").json["items"] == [])
      for client in clients { client.close() }
      await eventually { users.waiting + users.waitingForScreens + users.following == 0 }
      #expect(try await users.admin.get("/v1/admin/waits").json["count"] == 0)
    }
  }

  @Test("A screen is shown with its state under an id that does not drive it, and can be waited on")
  func screens() async throws {
    try await ServerFixture.administered { users in
      let ada = try await users.signUp()
      let screen = try await ada.post("/v1/reactors/workingHistory", "{}").json
      let items = try await users.admin.get("/v1/admin/screens").json["items"]?.arrayValue ?? []
      #expect(items.count == 1)
      #expect(items[0]["user"]?.stringValue == ada.user)
      #expect(items[0]["name"] == "workingHistory")
      let id = items[0]["id"]?.stringValue ?? ""
      #expect(id != screen["id"]?.stringValue)
      #expect(try await ada.get("/v1/reactors/workingHistory/\(id)").status == 404)
      let shown = try await users.admin.get("/v1/admin/screens/\(id)")
      #expect(shown.json["state"] == screen["state"])

      let tag = shown.field("ETag") ?? ""
      let waiting = try await users.admin.waiting("/v1/admin/screens/\(id)?wait=50", ["If-None-Match: \(tag)"])
      await eventually { users.waitingForScreens == 1 }
      let href = screen["href"]?.stringValue ?? ""
      _ = try await ada.post("\(href)/actions", #"{"type":"setCompanyName","payload":{"value":"Analytical"}}"#)
      #expect(try await waiting.response().json["state"]?["companyName"] == "Analytical")
      let latest = try await users.admin.get("/v1/admin/screens/\(id)").field("ETag") ?? ""
      let last = try await users.admin.waiting("/v1/admin/screens/\(id)?wait=50", ["If-None-Match: \(latest)"])
      await eventually { users.waitingForScreens == 1 }
      _ = try await ada.delete(href)
      #expect(try await last.response().status == 404)
      #expect(try await users.admin.get("/v1/admin/screens/\(id)").status == 404)
    }
  }

  @Test("The token of a login is in no screen's state")
  func loginToken() async throws {
    try await ServerFixture.administered { users in
      _ = try await users.signUp()
      let screen = try await users.post("/v1/reactors/login", "{}").json
      let href = screen["href"]?.stringValue ?? ""
      let actions = """
        [{"type":"setUsername","payload":{"value":"ada@example.com"}},
         {"type":"setPassword","payload":{"value":"\(ServerFixture.password)"}},{"type":"submit"}]
        """
      _ = try await users.post("\(href)/actions", actions)
      var token: String?
      while token == nil {
        token = try await users.ask("GET", href).json["state"]?["session"]?["token"]?.stringValue
      }
      let id = try await users.admin.get("/v1/admin/screens").json["items"]?[0]?["id"]?.stringValue ?? ""
      let shown = try await users.admin.get("/v1/admin/screens/\(id)")
      #expect(shown.json["state"]?["session"] == nil)
      #expect(shown.json["user"] == .null)
      #expect(!shown.text.contains(token ?? "?"))
      #expect(!shown.text.contains(screen["id"]?.stringValue ?? "?"))
    }
  }

  @Test("An administrator who looks at a screen does not keep it open")
  func idleScreens() async throws {
    try await ServerFixture.administered { users in
      let ada = try await users.signUp()
      _ = try await ada.post("/v1/reactors/workingHistory", "{}")
      let id = try await users.admin.get("/v1/admin/screens").json["items"]?[0]?["id"]?.stringValue ?? ""
      for _ in 1...8 {
        users.advance(by: 120)
        _ = try await users.admin.get("/v1/admin/screens/\(id)")
      }
      #expect(try await users.admin.get("/v1/admin/screens").json["count"] == 0)
    }
  }

  @Test("The status has the settings, and no secret")
  func status() async throws {
    func configure(_ configuration: inout Configuration) {
      configuration.administratorToken = "a secret token"
      configuration.profileUpstream = try? UpstreamURL("https://user:password@people.example/path?key=1")
    }
    try await ServerFixture.run(configure) { users in
      let admin = Device(users: users, token: "a secret token", user: "", session: "")
      users.advance(by: 90)
      let status = try await admin.get("/v1/admin/status")
      #expect(status.json["uptimeSeconds"] == 90)
      #expect(!TestedStore.isSQLite || (status.json["storeBytes"]?.int64Value ?? 0) > 10_000)
      #expect(status.json["backups"] == .null)
      #expect(status.json["configuration"]?["registration"] == "open")
      #expect(status.json["configuration"]?["profileUpstream"] == "https://people.example")
      for secret in ["a secret token", "password@", "key=1"] { #expect(!status.text.contains(secret)) }
      let nodes = try await admin.get("/v1/admin/nodes").json["items"]?.arrayValue ?? []
      #expect(nodes.count == 1)
      #expect((nodes[0]["leaseUntil"] == .null) == TestedStore.isSQLite)
      #expect(nodes[0]["address"]?.stringValue?.hasPrefix("http://127.0.0.1:") == true)
    }
  }
}
