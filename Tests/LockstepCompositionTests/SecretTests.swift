import Foundation
import LockstepJSON
import LockstepTestSupport
import Testing

@testable import LockstepAccounts
@testable import LockstepCollections
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport

@Suite("Passwords and tokens appear only in the response that creates a token", .timeLimit(.minutes(10)))
struct SecretTests {
  private static let administrator = "marked-administrator-5c1e"
  private static let (first, second, wrong) = ("marked-first-5c1e", "marked-second-5c1e", "marked-wrong-5c1e")
  private static let (screen, query) = ("marked-screen-5c1e", "marked-query-5c1e")

  @Test(
    "The server warns of a store that other users of the machine can read",
    .enabled(if: TestedStore.isSQLite, TestedStore.sqliteOnly),
    arguments: [0o600, 0o640, 0o604]
  )
  func openStore(mode: Int) async throws {
    try await ServerFixture.run { users in
      await users.stop()
      let file = users.directory.file("lockstep.db")
      try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file)
      try await users.restart()
      #expect(users.log.text.contains("other users of this machine can read the store") == (mode != 0o600))
    }
  }

  @Test(
    "Passwords and tokens are not in logs, metrics, errors, the journal, exports, screens, or the store"
  )
  func everywhere() async throws {
    try await ServerFixture.run {
      $0.administratorToken = Self.administrator
      $0.accessLog = true
      $0.logLevel = .debug
      $0.tokenRate = RateLimit(requests: 1_000_000, seconds: 1)
      $0.addressRate = RateLimit(requests: 1_000_000, seconds: 1)
    } _: { users in
      var (said, tokens): ([String], [String]) = ([], [])
      func note(_ response: RawResponse) { said.append(response.fields.joined(separator: "\n") + response.text) }
      func enter(_ path: String, _ password: String, key: String) async throws {
        let body = #"{"email":"ada@example.com","password":"\#(password)","device":"phone"}"#
        let response = try await users.post(path, body, ["Idempotency-Key: \(key)"])
        guard let token = response.json["token"]?.stringValue else { return note(response) }
        tokens.append(token)
      }
      func ask(_ method: String, _ path: String, _ body: String? = nil, token: String? = nil) async throws {
        let response = try await users.ask(
          method,
          path,
          body: body.map { Array($0.utf8) },
          token: token ?? tokens.first
        )
        note(response)
      }
      try await enter("/v1/users", Self.first, key: "sign-up")
      for path in ["/v1/users", "/v1/sessions"] {
        for (number, password) in [Self.first, Self.wrong, "\(Self.wrong)\u{1}"].enumerated() {
          try await enter(path, password, key: "\(path) \(number)")
        }
      }
      try #require(tokens.count >= 2)
      for body in [
        #"{"password":"\#(Self.wrong)""#, #"{"email":1,"password":["\#(Self.wrong)"]}"#, #""\#(Self.wrong)""#,
      ] {
        for path in ["/v1/users", "/v1/sessions"] { try await ask("POST", path, body) }
      }
      for current in [Self.wrong, Self.first] {
        try await ask("PUT", "/v1/me/password", #"{"current":"\#(current)","new":"\#(Self.second)"}"#)
      }
      try await ask("PUT", "/v1/favorites/a", "{}")
      try await ask("DELETE", "/v1/me", #"{"password":"\#(Self.wrong)"}"#)
      for token in [Self.administrator, "\(Self.administrator)x", tokens[0], "ls_\(Self.wrong)"] {
        try await ask("GET", "/v1/admin/registered/a", token: token)
        try await ask("PUT", "/v1/admin/registered/a", "1", token: token)
        try await ask("GET", "/v1/favorites", token: token)
      }
      for path in ["/v1/favorites", "/nowhere", "/v1/changes"] { try await ask("GET", "\(path)?token=\(Self.query)") }
      let opened = try await users.post("/v1/reactors/login", "{}")
      let href = try #require(opened.json["href"]?.stringValue)
      for action in [
        #"{"type":"setUsername","payload":{"value":"ada@example.com"}}"#,
        #"{"type":"setPassword","payload":{"value":"\#(Self.screen)"}}"#, #"{"type":"submit","payload":{}}"#,
      ] {
        try await ask("POST", "\(href)/actions", action)
      }
      try await ask("GET", href)
      _ = try await users.rows("ALTER TABLE snapshots RENAME TO gone")
      try await ask(
        "GET",
        "/v1/favorites?at=\(try await users.ask("GET", "/v1/me", token: tokens[0]).field("Cursor") ?? "")"
      )
      _ = try await users.rows("ALTER TABLE gone RENAME TO snapshots")
      for path in ["/v1/journal", "/v1/me/export", "/v1/me", "/v1/sessions", "/v1/changes", "/metrics"] {
        try await ask("GET", path)
      }
      said.append(users.log.text)
      #expect(users.log.requests.count > 20)

      said.append(try await users.storedText())
      let files = try FileManager.default.contentsOfDirectory(atPath: users.directory.path)
      #expect(files.contains("lockstep.db-wal") == TestedStore.isSQLite)
      for file in files {
        let path = users.directory.file(file)
        let permissions = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(permissions == 0o600, "\(file)")
      }
      let secrets = tokens + [Self.administrator, Self.first, Self.second, Self.wrong, Self.screen, Self.query]
      for text in said {
        for secret in secrets { #expect(!text.contains(secret), "\(secret) in \(text.prefix(2000))") }
      }
    }
  }
}
