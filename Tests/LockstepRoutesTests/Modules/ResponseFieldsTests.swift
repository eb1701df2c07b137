import LockstepJSON
import LockstepTestSupport
import Testing

@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport

@Suite("Fields of responses about users", .timeLimit(.minutes(10)), .alsoWithDeclaredCollections)
struct ResponseFieldsTests {
  @Test("A cache may store a response for its user only, and must revalidate it")
  func caching() async throws {
    try await ServerFixture.run {
      $0.corsOrigins = ["https://app.example"]
    } _: { users in
      let ada = try await users.signUp()
      try await ConditionalRequestTests.fill(ada)
      for path in ConditionalRequestTests.resources {
        let response = try await ada.get(path)
        #expect(response.field("Cache-Control") == "private, no-cache", "\(path)")
        #expect(Self.vary(response).isSuperset(of: ["Authorization", "Prefer", "Accept", "Origin"]), "\(path)")
      }
      for path in ["/v1/me", "/v1/sessions", "/v1/me/export"] {
        let response = try await ada.get(path)
        #expect(response.field("Cache-Control") == "private, no-cache", "\(path)")
        #expect(Self.vary(response).contains("Authorization"), "\(path)")
      }
      for response in [
        try await ada.get("/v1/favorites/absent"), try await ada.delete("/v1/favorites/a"),
        try await ada.put("/v1/favorites/a", "{", []),
      ] {
        #expect(response.field("Cache-Control") == "no-store")
      }
      // Long responses may be compressed.
      let long = #""\#(String(repeating: "x", count: 2_000))""#
      #expect(Self.vary(try await ada.put("/v1/defaults/standard/long", long)).contains("Accept-Encoding"))
    }
  }

  @Test("HEAD returns the status and the fields of GET on every resource")
  func head() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      try await ConditionalRequestTests.fill(ada)
      let paths =
        ConditionalRequestTests.resources + ["/v1/me", "/v1/sessions", "/v1/me/export", "/v1/favorites/absent"]
      for path in paths {
        let (get, head) = (try await ada.get(path), try await ada.ask("HEAD", path))
        #expect(head.status == get.status, "\(path)")
        #expect(head.body.isEmpty)
        #expect(head.fields == get.fields, "\(path)")
        guard let tag = get.field("ETag") else { continue }
        #expect(try await ada.ask("HEAD", path, nil, ["If-None-Match: \(tag)"]).status == 304, "\(path)")
      }
    }
  }

  @Test("OPTIONS and 405 list the methods of each path")
  func methods() async throws {
    let allowed: [(path: String, methods: String)] = [
      ("/v1/users", "POST, OPTIONS"), ("/v1/sessions", "GET, HEAD, POST, OPTIONS"),
      ("/v1/sessions/x", "GET, HEAD, DELETE, OPTIONS"),
      ("/v1/me", "GET, HEAD, DELETE, OPTIONS"), ("/v1/me/password", "PUT, OPTIONS"),
      ("/v1/me/export", "GET, HEAD, OPTIONS"),
      ("/v1/favorites", "GET, HEAD, OPTIONS"), ("/v1/favorites/a", "GET, HEAD, PUT, PATCH, DELETE, OPTIONS"),
      ("/v1/favorites/a/position", "PUT, OPTIONS"), ("/v1/defaults", "GET, HEAD, OPTIONS"),
      ("/v1/defaults/standard", "GET, HEAD, PATCH, OPTIONS"),
      ("/v1/defaults/standard/a", "GET, HEAD, PUT, DELETE, OPTIONS"), ("/v1/profile", "GET, HEAD, PATCH, OPTIONS"),
      ("/v1/actions", "POST, OPTIONS"), ("/v1/admin/registered/standard", "GET, HEAD, PUT, PATCH, OPTIONS"),
    ]
    try await ServerFixture.run { users in
      for (path, methods) in allowed {
        let options = try await users.ask("OPTIONS", path)
        #expect(options.status == 204, "\(path)")
        #expect(Self.list(options, "Allow") == Set(methods.split(separator: ", ").map(String.init)), "\(path)")
        let other = ["GET", "POST", "PUT"].first { !methods.contains($0) } ?? ""
        let refused = try await users.ask(other, path)
        #expect(refused.problem == ProblemSummary("method-not-allowed"), "\(path)")
        #expect(refused.field("Allow") == options.field("Allow"), "\(path)")
      }
    }
  }

  private static func vary(_ response: RawResponse) -> Set<String> { list(response, "Vary") }

  private static func list(_ response: RawResponse, _ name: String) -> Set<String> {
    Set(response.values(of: name).flatMap { $0.split(separator: ",") }.map { $0.trimmingPrefix(" ").description })
  }
}
