import Glibc
import LockstepJSON
import LockstepTestSupport
import LockstepThreading
import Synchronization
import Testing

@testable import LockstepCollections
@testable import LockstepComposition
@testable import LockstepMaintenance
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport
@testable import LockstepStore
@testable import LockstepSync
@testable import LockstepTime

@Suite(
  "Commands on declared collections, with a server",
  .enabled(if: TestedStore.isSQLite, TestedStore.sqliteOnly),
  .timeLimit(.minutes(10))
)
struct CollectionsCommandTests {
  private static func declarations(_ text: String) throws -> [DeclaredCollection] {
    try JSON(parsing: text).arrayValue?.map { try DeclaredCollection($0) } ?? []
  }

  private static func path(_ users: ServerFixture) -> String { users.directory.file("lockstep.db") }

  private static func processor(_ users: ServerFixture) throws -> AdminCommandProcessor {
    let server = try #require(users.running.withLock { $0 })
    return server.services.users.adminCommands(logger: server.components.logger)
  }

  /// An operator beside a server, whose clock stands still.
  private static func administrator(
    _ users: ServerFixture,
    work: @escaping CollectionsAdministrator.Worker = { _, _ in throw StoreError.inUse(path: "") }
  ) throws -> CollectionsAdministrator {
    try CollectionsAdministrator(
      of: .file(path(users)),
      time: users.time.serverTime,
      pause: { _ in usleep(1000) },
      work: work
    )
  }

  /// Runs work while the server polls, as it does once a second by itself.
  private static func run(_ work: CollectionsWork, _ users: ServerFixture) async throws -> CollectionsOutcome {
    let (administrator, processor) = (try administrator(users), try processor(users))
    return try await users.run {
      try administrator.run(work)
    } polling: {
      try await processor.runPending()
    }
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

  private static func rows(_ sql: String, _ users: ServerFixture) throws -> [[String]] {
    try StoreFile.rows(sql, in: path(users))
  }

  private static func insert(_ work: CollectionsWork, begun: Bool, _ users: ServerFixture) async throws {
    let server = try #require(users.running.withLock { $0 }?.services.users)
    let now = users.time.serverTime.now()
    try await server.storage.writer.write { connection in
      let records = AdminCommandRecords(connection: connection)
      try records.insert(collectionsWork: work.json.description, id: "o", at: now)
      if begun { _ = try records.beginCollectionsWork("o") }
    }
  }

  @Test("A server finishes the work that a killed one had begun, and does not repeat what was done")
  func killedServer() async throws {
    try await ServerFixture.administered { users in
      let server = try #require(users.running.withLock { $0 }?.services.users)
      let work = CollectionsWork.apply(try Self.declarations(#"[{"name":"notes","kind":"list"}]"#))
      try await Self.insert(work, begun: true, users)
      // The killed server had changed the store, but had not recorded the reply.
      let outcome = try await server.perform(work, key: .ofCommand("o"))
      try await Self.processor(users).runPending()
      let rows = try Self.rows("SELECT outcome, reply, work FROM orders", users)
      #expect(rows == [["done", outcome.json.description, "NULL"]])
      #expect(outcome.json["created"] == ["notes"])
    }
  }

  @Test("If the server ends in the middle, the command goes on in its own process, with the same key")
  func endedServer() async throws {
    try await ServerFixture.administered { users in
      let keys = Mutex<[String?]>([])
      let calls = Atomic(0)
      let administrator = try Self.administrator(users) { _, key in
        keys.withLock { $0.append(key?.key) }
        // The first attempt finds the server, the second one finds it gone.
        if calls.add(1, ordering: .relaxed).oldValue == 0 { throw StoreError.inUse(path: "") }
        return .deleted
      }
      let outcome = LockedState<Result<CollectionsOutcome, any Error>?>(nil)
      async let command: Void = aside {
        let result = Result { try administrator.run(.delete(name: "notes", erasesData: true)) }
        outcome.withLock { $0 = result }
      }
      try await eventually { try !Self.rows("SELECT id FROM orders", users).isEmpty }
      let server = try #require(users.running.withLock { $0 }?.services.users)
      let id = try #require(Self.rows("SELECT id FROM orders", users).first?.first)
      try await server.storage.writer.write { _ = try AdminCommandRecords(connection: $0).beginCollectionsWork(id) }
      await users.stop()
      await command
      #expect(try #require(outcome.withLock { $0 }).get() == .deleted)
      #expect(keys.withLock { $0 } == [nil, "admin command \(id)"])
      #expect(try Self.rows("SELECT * FROM orders", users).isEmpty)
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
