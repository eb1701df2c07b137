import LockstepJSON
import LockstepTestSupport
import Testing

@testable import LockstepCollections
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport
@testable import LockstepComposition
@testable import LockstepStore
@testable import LockstepSync

@Suite("Commands on declared collections, with a server", .timeLimit(.minutes(10)))
struct CollectionsCommandTests {
  private static func declarations(_ text: String) throws -> [DeclaredCollection] {
    try JSON(parsing: text).arrayValue?.map { try DeclaredCollection($0) } ?? []
  }

  private static func run(_ work: CollectionsWork, _ users: ServerFixture) async throws -> CollectionsOutcome {
    try await users.withChannel { try $0.change(work) }
  }

  @Test("When the command returns, users have the collections, and the reply says which ones are new or changed")
  func apply() async throws {
    try await ServerFixture.administered { users in
      let ada = try await users.signUp()
      #expect(try await ada.get("/v1/notes").status == 404)
      let two = try Self.declarations(#"[{"name":"notes","kind":"list"},{"name":"levels","kind":"map"}]"#)
      var expected = CollectionsDifference(two, before: ModuleSet([]))
      #expect(expected.created == ["notes", "levels"])
      #expect(try await Self.run(.apply(two), users) == .applied(expected))
      #expect(try await ada.put("/v1/notes/a", #"{"data":1}"#).status == 201)
      #expect(try await ada.put("/v1/levels/a", "1").status == 201)
      let changed = try Self.declarations(
        #"[{"name":"notes","kind":"list"},{"name":"levels","kind":"map","access":"readOnly"}]"#
      )
      (expected.created, expected.changed, expected.unchanged) = ([], ["levels"], ["notes"])
      #expect(try await Self.run(.apply(changed), users) == .applied(expected))
      #expect(try await ada.put("/v1/levels/a", "2").status == 403)
    }
  }

  @Test("If one declaration is refused, none is changed")
  func allOrNothing() async throws {
    try await ServerFixture.administered { users in
      let ada = try await users.signUp()
      _ = try await Self.run(.apply(try Self.declarations(#"[{"name":"notes","kind":"list"}]"#)), users)
      _ = try await ada.put("/v1/notes/a", #"{"data":1}"#)
      let other = try Self.declarations(#"[{"name":"first","kind":"map"},{"name":"notes","kind":"map"}]"#)
      guard case .refused(.conflict, let detail) = try await Self.run(.apply(other), users) else {
        Issue.record("It was not refused.")
        return
      }
      #expect(detail.contains("notes"))
      #expect(try await ada.get("/v1/first").status == 404)
      #expect(try await ada.put("/v1/notes/b", #"{"data":1}"#).status == 201)
    }
  }

  @Test("A deletion refuses a collection with data, and erases the data on request, as the administrator")
  func delete() async throws {
    try await ServerFixture.administered { users in
      let ada = try await users.signUp()
      _ = try await Self.run(.apply(try Self.declarations(#"[{"name":"notes","kind":"list"}]"#)), users)
      _ = try await ada.put("/v1/notes/a", #"{"data":1}"#)
      guard case .refused(.conflict, _) = try await Self.run(.delete(name: "notes", erasesData: false), users) else {
        Issue.record("It was not refused.")
        return
      }
      #expect(try await ada.put("/v1/notes/b", #"{"data":2}"#).status == 201)
      #expect(try await Self.run(.delete(name: "notes", erasesData: true), users) == .deleted)
      #expect(try await ada.get("/v1/notes").status == 404)
      let last = try #require(try await ada.get("/v1/journal").json["entries"]?.arrayValue?.last)
      #expect(last["by"] == "administrator" && last["action"]?["type"] == "clear")
      guard case .refused(.missing, _) = try await Self.run(.delete(name: "notes", erasesData: true), users) else {
        Issue.record("It was not refused.")
        return
      }
    }
  }

  @Test("Work that is repeated with its key, by another server, has the outcome of the first time")
  func repetition() async throws {
    try await ServerFixture.administered { users in
      let work = CollectionsWork.apply(try Self.declarations(#"[{"name":"notes","kind":"list"}]"#))
      let key = IdempotencyKey("k", fingerprint: [])
      let first = try await users.running.withLock { $0?.services.users }?.perform(work, key: key)
      try await users.restart()
      #expect(try await users.running.withLock { $0?.services.users }?.perform(work, key: key) == first)
      #expect(first?.json["created"] == ["notes"])
    }
  }

  @Test("No route has a name that a declared collection can have")
  func reservedNames() async throws {
    try await ServerFixture.administered { users in
      let document = try await users.admin.get("/openapi.json").json
      for path in document["paths"]?.objectValue?.map(\.0) ?? [] {
        let parts = path.split(separator: "/").map(String.init)
        guard parts.first == "v1", parts.count > 1 else { continue }
        #expect(Services.namesWithoutDeclarations.contains(parts[1]), "\(path)")
        guard parts[1] == "admin", parts.count > 4, parts[2] == "users" else { continue }
        #expect(Services.namesWithoutDeclarations.contains(parts[4]), "\(path)")
      }
    }
  }
}
