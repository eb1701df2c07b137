import LockstepJSON
import LockstepSQLite
import LockstepTestSupport
import Testing

@testable import LockstepComposition
@testable import LockstepCollections
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport

@Suite("Erasing and exporting users", .timeLimit(.minutes(10)))
struct ErasureTests {
  /// Unique texts, one in every place where a user can store text.
  private static let secrets = [
    "ada@example.com", "Ada's telephone", "favorite-id-zq", "favorite title zq", "favorite data zq", "suite-zq",
    "default-key-zq", "default value zq", "position zq", "idempotency-zq", "removed zq", "note zq", "score zq",
  ]

  private static func live(_ ada: Device) async throws {
    let key = ["Idempotency-Key: idempotency-zq"]
    _ = try await ada.put(
      "/v1/favorites/favorite-id-zq",
      #"{"title":"favorite title zq","data":"favorite data zq"}"#,
      key
    )
    _ = try await ada.put("/v1/defaults/suite-zq/default-key-zq", #""default value zq""#)
    _ = try await ada.patch("/v1/profile", #"{"position":"position zq"}"#)
    _ = try await ada.put("/v1/favorites/b", #"{"title":"removed zq"}"#)
    _ = try await ada.delete("/v1/favorites/b")
    _ = try await ada.put("/v1/notes/n", #"{"text":"note zq"}"#)
    _ = try await ada.put("/v1/scores/s", #""score zq""#)
  }

  /// Queues a delivery to a webhook that is not in use.
  private static func queueDelivery(about user: String, in users: ServerFixture) async throws {
    let statements = [
      """
      INSERT INTO webhooks (id, name, url, events, secret, created_at, disabled_at)
      VALUES (1, 'w', 'https://hooks.example', 'session.ended', '', 0, 0)
      """,
      """
      INSERT INTO deliveries (webhook, id, user_id, type, data, created_at, status, attempts)
      VALUES (1, '019ac3f1-2b7c-7e31-9a55-0c6f1d2e3b4a', '\(user)', 'session.ended', '{}', 0, 0, 0)
      """,
      "INSERT INTO delivery_queues (webhook, user_id, next_at) VALUES (1, '\(user)', 0)",
    ]
    for statement in statements { _ = try await users.rows(TestSQL(sqlite: statement, postgreSQL: statement)) }
  }

  @Test("An erased user leaves no row in any table, and no text in the store")
  func erase() async throws {
    try await ServerFixture.run(modules: [.notes, .scores]) { users in
      let ada = try await users.signUp("ada", device: "Ada's telephone")
      let bob = try await users.signUp("bob")
      try await bob.addFavorites("x")
      try await Self.live(ada)
      // Enough to make a snapshot, which is written after the write that caused it.
      for letter in ["v", "w"] {
        let value = #""\#(String(repeating: letter, count: 70_000))""#
        #expect(try await ada.put("/v1/defaults/suite-zq/large", value).status < 300)
      }
      try await eventually { try await users.rows("SELECT 1 FROM snapshots").isEmpty == false }
      // A user with a password has no identity otherwise.
      _ = try await users.rows(
        """
        INSERT INTO identities (issuer, subject, user_id, created_at, valid_from, latest_issue)
        VALUES ('issuer zq', 'subject zq', '\(ada.user)', 0, 0, 0)
        """
      )
      try await Self.queueDelivery(about: ada.user, in: users)
      _ = try await users.rows(
        TestSQL(
          sqlite: "INSERT INTO mail_links VALUES (x'00', 'email.proof', '\(ada.user)', 'new@example.com', 'zq', 0)",
          postgreSQL:
            "INSERT INTO mail_links VALUES ('\\x00', 'email.proof', '\(ada.user)', 'new@example.com', 'zq', 0)"
        )
      )
      _ = try await users.rows(
        """
        INSERT INTO deliveries (webhook, id, user_id, type, data, created_at, status, attempts)
        VALUES (-1, '\(ada.session)', '\(ada.user)', 'email.proof', '{"email":"new@example.com"}', 0, 0, 0)
        """
      )
      _ = try await users.rows("INSERT INTO delivery_queues (webhook, user_id, next_at) VALUES (-1, '\(ada.user)', 0)")
      // A completed admin command no longer has the user's id.
      let tables = try await users.rows(
        TestSQL(
          sqlite: """
            SELECT m.name FROM sqlite_schema m JOIN pragma_table_info(m.name) c
            WHERE m.type = 'table' AND c.name = 'user_id'
            """,
          postgreSQL: """
            SELECT table_name::text FROM information_schema.columns JOIN information_schema.tables
              USING (table_schema, table_name)
            WHERE table_schema = current_schema() AND table_type = 'BASE TABLE' AND column_name = 'user_id'
            """
        )
      ).map { $0[0] }.filter { $0 != "orders" }
      #expect(tables.count >= 8)
      for table in tables {
        let rows = try await users.rows("SELECT 1 FROM \(table) WHERE user_id = '\(ada.user)'")
        #expect(!rows.isEmpty, "\(table) has no rows to test")
      }
      let response = try await ada.ask("DELETE", "/v1/me", #"{"password":"correct horse"}"#)
      #expect(response.status == 204)
      for table in tables {
        #expect(try await users.rows("SELECT 1 FROM \(table) WHERE user_id = '\(ada.user)'").isEmpty, "\(table)")
      }
      #expect(try await users.rows("SELECT 1 FROM users WHERE id = '\(ada.user)'").isEmpty)
      #expect(try await ada.get("/v1/me").status == 401)
      #expect(try await ada.put("/v1/favorites/a", "{}").status == 401)
      let login = try await users.post("/v1/sessions", #"{"email":"ada@example.com","password":"correct horse"}"#)
      #expect(login.status == 401)
      #expect(try await bob.favoriteIDs() == ["x"])

      // The WAL is checkpointed after the response. Writes of other users may follow.
      try await eventually {
        guard TestedStore.isSQLite else { return true }
        let log = String(decoding: try users.directory.contents(of: "lockstep.db-wal"), as: UTF8.self)
        return (Self.secrets + [ada.user, ada.session]).allSatisfy { !log.contains($0) }
      }
      await users.stop()
      let stored = try await users.storedText()
      #expect(stored.contains("bob@example.com"))
      for secret in Self.secrets + [ada.user, ada.session, "subject zq"] {
        #expect(!stored.contains(secret), "\(secret)")
      }
      try await users.restart()
      // The address can be used again, and the new user has no data.
      let again = try await users.signUp("ada")
      #expect(again.user != ada.user)
      #expect(try await again.get("/v1/favorites").json["count"] == 0)
    }
  }

  @Test(
    "If something reads the store during an erasure, the texts leave the files soon after, without any write",
    .enabled(if: TestedStore.isSQLite, TestedStore.sqliteOnly)
  )
  func erasedBesideReader() async throws {
    try await ServerFixture.run(modules: [.notes, .scores]) { users in
      let ada = try await users.signUp("ada", device: "Ada's telephone")
      try await Self.live(ada)
      func found() throws -> [String] {
        let files = try ["lockstep.db", "lockstep.db-wal"].map { name in
          String(decoding: try users.directory.contents(of: name), as: UTF8.self)
        }
        return (Self.secrets + [ada.user]).filter { secret in files.contains { $0.contains(secret) } }
      }
      let reader = try SQLiteConnection(path: users.directory.file("lockstep.db"), access: .readOnly)
      try reader.execute("BEGIN; SELECT count(*) FROM users")
      #expect(try await ada.ask("DELETE", "/v1/me", #"{"password":"correct horse"}"#).status == 204)
      #expect(try !found().isEmpty)
      try reader.execute("COMMIT")
      try await eventually { try found().isEmpty }
    }
  }

  @Test("If many users write while some are erased, no text of the erased users stays in the files")
  func erasedBesideWriters() async throws {
    try await ServerFixture.run { users in
      var devices: [Device] = []
      for number in 0..<16 { devices.append(try await users.signUp("erased-\(number)")) }
      // The user's e-mail address must disappear too. Shorter texts would be in hashes by chance.
      let secrets = (0..<16).map { ["<secret-\($0)>", "erased-\($0)@"] }
      try await withThrowingTaskGroup(of: Void.self) { group in
        for (device, secret) in zip(devices, secrets) {
          group.addTask {
            for number in 0..<60 {
              let title = secret[0] + String(repeating: "-", count: number * 37 % 300)
              // After the erasure, the server refuses the user's other writes.
              _ = try await device.put("/v1/favorites/f\(number % 25)", #"{"title":"\#(title)"}"#)
            }
          }
        }
        for device in devices.prefix(8) {
          group.addTask {
            try await eventually {
              try await users.rows("SELECT 1 FROM journal WHERE user_id = '\(device.user)'").count > 30
            }
            #expect(try await device.ask("DELETE", "/v1/me", #"{"password":"correct horse"}"#).status == 204)
          }
        }
        try await group.waitForAll()
      }
      func found() async throws -> [String] {
        let stored = try await users.storedText()
        return secrets.prefix(8).joined().filter { stored.contains($0) }
      }
      try await eventually { try await found().isEmpty }
      // The other users' writes to the same pages bring nothing back.
      for device in devices.suffix(8) { _ = try await device.put("/v1/favorites/f1", "{}") }
      #expect(try await found() == [])
      await users.stop()
      #expect(try await found() == [])
      try await users.restart()
    }
  }

  @Test("A damaged journal is readable but for its damaged texts, which are named")
  func damagedJournal() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      for number in 1...4 { _ = try await ada.put("/v1/defaults/standard/k", "\(number)") }
      // PostgreSQL has only valid UTF-8.
      _ = try await users.rows(
        TestSQL(
          sqlite: "UPDATE journal SET action = CAST(x'7b226122ff7d' AS TEXT) WHERE revision >> 20 = 2",
          postgreSQL: "UPDATE journal SET action = '{\"a\"}' WHERE number = 2"
        )
      )
      _ = try await users.rows(
        TestSQL(
          sqlite: "UPDATE journal SET mutations = '[' WHERE revision >> 20 = 3",
          postgreSQL: "UPDATE journal SET mutations = '[' WHERE number = 3"
        )
      )
      let entries = try #require(try await ada.get("/v1/journal").json["entries"]?.arrayValue)
      #expect(entries.count == 4)
      #expect(entries[1]["action"] == .null && entries[1]["unreadable"] == ["action"])
      #expect(entries[1]["mutations"]?.arrayValue?.count == 1)
      #expect(entries[2]["mutations"] == .null && entries[2]["unreadable"] == ["mutations"])
      #expect(entries[3]["unreadable"] == nil)
      let export = try await ada.get("/v1/me/export")
      #expect(export.status == 200)
      #expect(export.json["journal"]?.arrayValue == entries)
    }
  }

  @Test("An export contains all stored data and no secrets")
  func export() async throws {
    try await ServerFixture.run({ $0.administratorToken = ServerFixture.administrator }, modules: [.notes, .scores]) {
      users in
      try await users.register("standard", #"{"theme":"light"}"#)
      let ada = try await users.signUp("ada", device: "Ada's telephone")
      try await Self.live(ada)
      let response = try await ada.get("/v1/me/export")
      #expect(response.status == 200)
      for secret in Self.secrets { #expect(response.text.contains(secret), "\(secret)") }
      let document = response.json
      #expect(document["user"]?["id"]?.stringValue == ada.user)
      #expect(document["sessions"]?[0]?["id"]?.stringValue == ada.session)
      #expect(document["cursor"]?.stringValue == response.cursor)
      #expect(response.cursor == (try await ada.get("/v1/favorites")).cursor)
      #expect(document["favorites"] == (try await ada.get("/v1/favorites")).json["items"])
      #expect(document["defaults"] == ["suite-zq": ["default-key-zq": "default value zq"]])
      #expect(document["profile"] == ["position": "position zq"])
      #expect(document["modules"]?["notes"] == (try await ada.get("/v1/notes")).json["items"])
      #expect(document["modules"]?["scores"] == ["s": "score zq"])
      #expect(document["journal"]?.arrayValue?.count == 7)
      #expect(document["journal"]?[4]?["action"] == ["type": "remove", "payload": ["id": "b"]])
      #expect(document["idempotencyKeys"]?[0]?["key"] == "idempotency-zq")
      #expect(!response.text.contains(ada.token))
      #expect(!response.text.contains("correct horse"))
      #expect(!response.text.contains("argon2"))
    }
  }

  @Test("A long export is sent in pieces and has the same content")
  func longExport() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      for number in 0..<24 {
        let value = #""\#(number) \#(String(repeating: "x", count: 240_000))""#
        _ = try await ada.put("/v1/defaults/standard/k", value)
      }
      try await ada.addFavorites("a", "b")
      let response = try await ada.get("/v1/me/export")
      #expect(response.field("Transfer-Encoding") == "chunked")
      #expect(response.field("Content-Length") == nil)
      let document = response.json
      let names = [
        "user", "sessions", "cursor", "favorites", "defaults", "profile", "journal", "snapshots", "idempotencyKeys",
      ]
      #expect(document.objectValue?.names == names)
      #expect(document["favorites"] == (try await ada.get("/v1/favorites")).json["items"])
      #expect(document["defaults"]?["standard"] == (try await ada.get("/v1/defaults/standard")).json["values"])
      let journal = document["journal"]?.arrayValue ?? []
      #expect(journal.count == 26)
      #expect(journal.first == (try await ada.get("/v1/journal?limit=1")).json["entries"]?[0])
      #expect(Set(journal.compactMap { $0["cursor"]?.stringValue }).count == 26)
    }
  }

  @Test("An export ends without its last chunk if its user is erased before the end")
  func erasedExport() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      for number in 0..<60 {
        let value = #""\#(number) \#(String(repeating: "x", count: 240_000))""#
        _ = try await ada.put("/v1/defaults/standard/k", value)
      }
      // The client does not read yet, and the buffers are too small for the whole export.
      let client = try RawClient(
        port: try #require(users.running.withLock { $0 }).address.port,
        receiveBuffer: 16 * 1024
      )
      let request = StubbedServer.request("GET", "/v1/me/export", ["Authorization: Bearer \(ada.token)"])
      try await client.send(request)
      try await client.receive(until: #""journal":["#)
      #expect(try await ada.ask("DELETE", "/v1/me", #"{"password":"\#(ServerFixture.password)"}"#).status == 204)
      let rest = try await client.readToEnd()
      #expect(!rest.hasSuffix("0\r\n\r\n"))
      #expect(!rest.contains("idempotencyKeys"))
    }
  }

  @Test("An export contains snapshots of a pruned history")
  func exportedSnapshots() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      try await ada.addFavorites("a")
      for number in 1...3 {
        let title = #"{"title":"\#(number)","data":"\#(String(repeating: "x", count: 16_000))"}"#
        for id in ["a", "b"] { _ = try await ada.put("/v1/favorites/\(id)", title) }
        _ = try await ada.put("/v1/defaults/standard/k", #""\#(number)\#(String(repeating: "x", count: 40_000))""#)
      }
      try await eventually { try await users.count("snapshots") == 2 }
      try await users.deleteJournal(upTo: 9)
      let document = try await ada.get("/v1/me/export").json
      #expect(document["journal"]?.arrayValue?.count == 1)
      let snapshots = document["snapshots"]?.arrayValue ?? []
      #expect(snapshots.compactMap { $0["collection"]?.stringValue } == ["defaults/standard", "favorites"])
      #expect(snapshots[0]["values"]?["k"]?.stringValue?.hasPrefix("2x") == true)
      #expect(snapshots[1]["items"]?.arrayValue?.compactMap { $0["id"]?.stringValue } == ["a", "b"])
      for snapshot in snapshots {
        let at = snapshot["cursor"]?.stringValue ?? ""
        #expect(at.split(separator: ".").count == 3, "\(at)")
      }
    }
  }

  @Test(
    "Passwords and tokens are not in the store, in the log, or in any response except the one that creates the token"
  )
  func secrets() async throws {
    func configure(_ configuration: inout Configuration) {
      configuration.accessLog = true
      configuration.logLevel = .debug
      configuration.administratorToken = "the administrator's secret"
    }
    try await ServerFixture.run(configure, modules: [.notes, .scores]) { users in
      let key = ["Idempotency-Key: 7"]
      let credentials = #"{"email":"ada@example.com","password":"correct horse"}"#
      let phone = try #require(try await users.post("/v1/users", credentials, key).json["token"]?.stringValue)
      let tablet = try #require(
        try await users.post("/v1/sessions", credentials, ["Idempotency-Key: 9"]).json["token"]?.stringValue
      )
      let ada = Device(users: users, token: phone, user: "", session: "")
      let other = try await users.logIn()
      _ = try await ada.put(
        "/v1/me/password",
        #"{"current":"correct horse","new":"battery staple"}"#,
        ["Idempotency-Key: 8"]
      )
      _ = try await users.ask("GET", "/v1/admin/registered/a", token: "the administrator's secret")
      try await Self.live(ada)
      let responses = try await ada.get("/v1/me/export").text + (try await ada.get("/v1/sessions")).text
      await users.stop()
      let stored = try await users.storedText()
      for secret in ["correct horse", "battery staple", phone, tablet, other.token, "administrator's secret"] {
        #expect(!stored.contains(secret), "\(secret)")
        #expect(!users.log.text.contains(secret), "\(secret)")
        #expect(!responses.contains(secret), "\(secret)")
      }
    }
  }

  @Test("If the user is no longer in the store, no read shows an empty state before the session ends")
  func erasedBeforeLoad() async throws {
    try await ServerFixture.run({ $0.cacheBytes = 1 }) { users in
      let ada = try await users.signUp()
      let others = [try await users.signUp("bob"), try await users.signUp("cid"), try await users.signUp("dan")]
      let cursor = try #require(try await ada.get("/v1/changes").cursor)
      // An erasure is on disk a moment before the session ends in memory.
      _ = try await users.rows("DELETE FROM users WHERE id = '\(ada.user)'")
      if !TestedStore.isSQLite { _ = try await users.rows("DELETE FROM heads WHERE user_id = '\(ada.user)'") }
      let paths = ConditionalRequestTests.resources + ["/v1/changes", "/v1/changes?since=\(cursor)", "/v1/journal"]
      for path in paths {
        for other in others { _ = try await other.get("/v1/favorites") }
        #expect(try await ada.get(path).status == 401, "\(path)")
      }
      for other in others { _ = try await other.get("/v1/favorites") }
      #expect(try await ada.put("/v1/favorites/a", "{}").status == 401)
    }
  }
}
