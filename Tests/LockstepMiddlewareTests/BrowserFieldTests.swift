import LockstepHTTP
import LockstepTestSupport
import Testing

@testable import LockstepCollections
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport

@Suite("Security fields for browsers", .timeLimit(.minutes(10)))
struct BrowserFieldTests {
  private static let fields = [
    ("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "no-referrer"),
    ("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'"),
  ]

  @Test("Every response that needs no token has the security fields")
  func withoutToken() async throws {
    try await ServerFixture.run { users in
      let opened = try await users.post("/v1/reactors/login", "{}")
      let screen = try #require(opened.json["href"]?.stringValue)
      var responses = [
        opened, try await users.post("/v1/users", "{}"), try await users.post("/v1/sessions", "["),
        try await users.ask("GET", screen, ["Accept: application/json"]),
        try await users.post("\(screen)/actions", #"{"type":"setUsername","payload":{"value":"<script>"}}"#),
        try await users.ask("BREW", "/"), try await users.ask("PUT", "/healthz"),
        try await users.ask("GET", "/<script>alert(1)</script>", ["Accept-Encoding: gzip"]),
      ]
      guard case .object(let links)? = try await users.ask("GET", "/").json["links"] else {
        Issue.record("no links")
        return
      }
      #expect(links.count > 10)
      for link in links { responses.append(try await users.ask("GET", try #require(link.value.stringValue))) }
      for response in responses {
        #expect(response.status >= 200)
        for (name, value) in Self.fields {
          #expect(response.values(of: name) == [value], "\(response.status) \(response.text)")
        }
      }
    }
  }

  @Test("Users' states do not have the fields, because browsers cannot navigate to them; problems have them")
  func withToken() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp("ada")
      for path in ["/v1/favorites", "/v1/defaults/standard", "/v1/changes?since=now", "/v1/journal"] {
        let response = try await ada.get(path)
        #expect(response.status == 200)
        for (name, _) in Self.fields { #expect(response.field(name) == nil, "\(path)") }
      }
      let refused = try await ada.get("/v1/favorites/none")
      for (name, value) in Self.fields { #expect(refused.values(of: name) == [value]) }
    }
  }

  @Test("The response to a malformed request has the fields")
  func refused() async throws {
    try await StubbedServer.run { gateway in
      let response = try await gateway.exchange("GET / HTTP/1.1\r\nHost: h\r\nHost: <script>\r\n\r\n")
      #expect(response.status == 400)
      for (name, value) in Self.fields { #expect(response.values(of: name) == [value]) }
    }
  }
}
