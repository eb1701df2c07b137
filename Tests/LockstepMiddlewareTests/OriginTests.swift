import LockstepCollections
import LockstepJSON
import LockstepMail
import LockstepTestSupport
import Testing

@testable import LockstepComposition
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport

@Suite("Writes from pages of other origins", .timeLimit(.minutes(10)))
struct OriginTests {
  private static let app = "https://app.example"
  private static let account = #"{"email":"eve@example.com","password":"correct horse"}"#

  private func signUp(_ users: ServerFixture, _ fields: [String]) async throws -> RawResponse {
    try await users.post("/v1/users", Self.account, fields)
  }

  @Test("Signing up, logging in, writing and opening a screen are refused and have no effect")
  func refused() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      for origin in ["https://evil.example", "null", "http://h.example", "h", "http://", "http://u@h"] {
        let fields = ["Origin: \(origin)"]
        #expect(try await signUp(users, fields).problem == ProblemSummary("forbidden"), "\(origin)")
        #expect(try await users.post("/v1/sessions", Self.account, fields).problem == ProblemSummary("forbidden"))
        #expect(try await users.post("/v1/reactors/login", "", fields).problem == ProblemSummary("forbidden"))
        #expect(try await ada.put("/v1/favorites/a", "{}", fields).problem == ProblemSummary("forbidden"))
        #expect(try await ada.patch("/v1/profile", "{}", fields).problem == ProblemSummary("forbidden"))
        #expect(try await ada.delete("/v1/sessions/current", fields).problem == ProblemSummary("forbidden"))
        #expect(try await ada.post("/v1/actions", "{}", fields).problem == ProblemSummary("forbidden"))
      }
      #expect(try await ada.favoriteIDs().isEmpty)
      #expect(try await signUp(users, []).status == 201)
    }
  }

  @Test("Pages of the server's own origin may write, with any scheme, and so may requests without an origin")
  func own() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      // The test's requests have `Host: h`, as from a proxy that omits the port.
      for origin in ["http://h", "https://h", "https://H", "http://h:80", "https://h:8443"] {
        #expect(try await ada.put("/v1/favorites/a", "{}", ["Origin: \(origin)"]).status < 300, "\(origin)")
      }
      for (host, origin, status) in [
        ("h:8080", "http://h:8080", 204), ("H.example:8080", "https://h.EXAMPLE:8080", 204),
        ("h:8080", "http://h", 403),
        ("h:443", "https://h", 204), ("h:80", "http://h", 204), ("h:80", "https://h", 403),
        ("h:80", "http://h:81", 403), ("[::1]:80", "http://[::1]", 204),
        ("[::1]", "http://[::2]", 403),
      ] {
        let other = try await users.logIn()
        let client = try users.connect()
        defer { client.close() }
        try await client.send(
          "DELETE /v1/sessions/current HTTP/1.1\r\nHost: \(host)\r\nOrigin: \(origin)\r\n"
            + "Authorization: Bearer \(other.token)\r\n\r\n"
        )
        #expect(try await client.response().status == status, "\(host) \(origin)")
      }
    }
  }

  @Test("With a public URL, a name in Host does not let a page write, so DNS rebinding does not help it")
  func publicURL() async throws {
    for url in ["https://notes.example", "https://Notes.example:443/app"] {
      let publicURL = try PublicURL(url)
      try await ServerFixture.run({
        $0.mail.publicURL = publicURL
        $0.corsOrigins = [Self.app]
      }) { users in
        let ada = try await users.signUp()
        for (host, origin, isAllowed) in [
          ("evil.example", "http://evil.example", false), ("notes.example", "http://notes.example", false),
          ("127.0.0.1:8080", "https://notes.example", true), ("notes.example", "https://notes.example", true),
          ("notes.example", "https://notes.example:8443", false), ("h", Self.app, true), ("h", "null", false),
          ("127.0.0.1:8080", "http://127.0.0.1:8080", true), ("[::1]:8080", "http://[::1]:8080", true),
          ("localhost:8080", "http://localhost:8080", true), ("127.0.0.1:8080", "http://evil.example:8080", false),
          ("127.0.0.1.evil.example", "http://127.0.0.1.evil.example", false),
          ("localhost.evil.example", "http://localhost.evil.example", false),
        ] {
          let client = try users.connect()
          defer { client.close() }
          try await client.send(
            "PUT /v1/favorites/a HTTP/1.1\r\nHost: \(host)\r\nOrigin: \(origin)\r\nContent-Length: 2\r\n"
              + "Authorization: Bearer \(ada.token)\r\n\r\n{}"
          )
          let status = try await client.response().status
          #expect((status < 300) == isAllowed, "\(host) \(origin)")
        }
      }
    }
  }

  @Test("A write that a browser reports to be from another site is refused also without an Origin")
  func crossSite() async throws {
    let crossSite = ["Sec-Fetch-Site: cross-site"]
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      #expect(try await signUp(users, crossSite).problem == ProblemSummary("forbidden"))
      #expect(try await users.post("/v1/sessions", Self.account, crossSite).problem == ProblemSummary("forbidden"))
      #expect(try await ada.put("/v1/favorites/a", "{}", crossSite).problem == ProblemSummary("forbidden"))
      #expect(try await ada.get("/v1/favorites", crossSite).status == 200)
      for site in ["same-origin", "same-site", "none"] {
        #expect(try await ada.put("/v1/favorites/a", "{}", ["Sec-Fetch-Site: \(site)"]).status < 300)
      }
      #expect(try await ada.put("/v1/favorites/a", "{}", crossSite + ["Origin: http://h"]).status == 200)
    }
    try await ServerFixture.run({ $0.corsOrigins = ["*"] }) { users in
      let response = try await signUp(users, crossSite)
      #expect(response.status == 201)
    }
  }

  @Test("An allowed origin may write, and a star allows all origins")
  func allowed() async throws {
    for (allowed, origin, isAllowed) in [
      ([Self.app], Self.app, true), ([Self.app], "https://evil.example", false), (["*"], "https://evil.example", true),
      (["*"], "null", true),
    ] {
      try await ServerFixture.run({ $0.corsOrigins = allowed }) { users in
        let response = try await signUp(users, ["Origin: \(origin)"])
        #expect(response.status == (isAllowed ? 201 : 403), "\(allowed) \(origin)")
        let readable = isAllowed ? (allowed == ["*"] ? "*" : origin) : nil
        #expect(response.field("Access-Control-Allow-Origin") == readable)
      }
    }
  }

  @Test("Reads from a foreign origin are not affected")
  func reads() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      for method in ["GET", "HEAD", "OPTIONS"] {
        let plain = try await ada.ask(method, "/v1/favorites")
        let foreign = try await ada.ask(method, "/v1/favorites", nil, ["Origin: https://evil.example"])
        #expect(foreign == plain)
      }
      #expect(!users.log.text.contains("evil"))
    }
  }

  @Test("Each refused origin is logged once an hour, and only a limited number of origins")
  func log() async throws {
    try await ServerFixture.run { users in
      func lines() -> Int { users.log.lines.count { $0.contains("INFO") && $0.contains("writes from an origin") } }
      for _ in 0..<3 { _ = try await signUp(users, ["Origin: https://evil.example"]) }
      #expect(lines() == 1 && users.log.text.contains("https://evil.example"))
      _ = try await signUp(users, ["Origin: https://other.example"])
      #expect(lines() == 2)
      users.time.advance(by: 3599)
      _ = try await signUp(users, ["Origin: https://evil.example"])
      #expect(lines() == 2)
      users.time.advance(by: 2)
      _ = try await signUp(users, ["Origin: https://evil.example"])
      #expect(lines() == 3)
      for number in 0..<400 { _ = try await signUp(users, ["Origin: https://n\(number).example"]) }
      #expect(lines() < 300)
      // Once more after the origins of the hour before are forgotten.
      #expect(1...2 ~= users.log.lines.count { $0.contains("so many origins that no more are logged") })
    }
  }
}
