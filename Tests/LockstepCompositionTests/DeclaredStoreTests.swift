import LockstepJSON
import LockstepTestSupport
import Synchronization
import Testing

@testable import LockstepCollections
@testable import LockstepComposition
@testable import LockstepMaintenance
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport
@testable import LockstepStore
@testable import LockstepSync

@Suite("Declared collections in stores, backups and fleets", .timeLimit(.minutes(10)))
struct DeclaredStoreTests {
  private static let path = "/v1/admin/collections"

  private struct Killed: Error {}

  /// Runs the deletion of a collection up to the user before the last one, and then loses the server's memory.
  private static func deleteHalf(_ name: String, _ users: ServerFixture) async throws {
    let services = try #require(users.running.withLock { $0?.services.users })
    let work = CollectionsWork.delete(name: name, erasesData: true)
    let erased = Mutex(0)
    await #expect(throws: Killed.self) {
      _ = try await services.states.declared.perform(work) { declaration, user in
        if erased.withLock({ $0 }) == 1 { throw Killed() }
        try await services.states.ledger.erase(declaration, of: user, by: services.accounts.serviceTokens.administrator)
        erased.withLock { $0 += 1 }
      }
    }
    try await users.restart()
  }

  private static func twoUsers(_ body: (ServerFixture, [Device]) async throws -> Void) async throws {
    try await ServerFixture.administered { users in
      _ = try await users.admin.put("\(path)/notes", #"{"kind":"list"}"#)
      let devices = [try await users.signUp(), try await users.signUp("bob")]
      for device in devices { #expect(try await device.put("/v1/notes/a", #"{"data":1}"#).status == 201) }
      try await body(users, devices)
    }
  }

  @Test("If the server dies in the middle of a deletion, the collection stays closed, and a new deletion finishes it")
  func killed() async throws {
    try await Self.twoUsers { users, devices in
      try await Self.deleteHalf("notes", users)
      var counts: [JSON?] = []
      for device in devices {
        counts.append(try await device.get("/v1/notes").json["count"])
        #expect(try await device.put("/v1/notes/b", #"{"data":1}"#).problem == ProblemSummary("conflict"))
      }
      #expect(Set(counts) == [0, 1])
      let shown = try await users.admin.get("\(Self.path)/notes")
      #expect(shown.json["deleting"] == true)
      // A refused request does not open it.
      #expect(try await users.admin.delete("\(Self.path)/notes").status == 409)
      #expect(try await users.admin.put("\(Self.path)/notes", #"{"kind":"map"}"#).status == 409)
      #expect(try await users.admin.get(Self.path).json["items"]?[0]?["deleting"] == true)
      #expect(try await users.admin.delete("\(Self.path)/notes?erase=true").status == 204)
      for device in devices {
        #expect(try await device.get("/v1/notes").status == 404)
        #expect(try await device.get("/v1/journal").json["entries"]?.arrayValue?.count == 2)
      }
    }
  }

  @Test("A collection whose deletion was cut short can be opened again, with the data that is left")
  func reopened() async throws {
    try await Self.twoUsers { users, devices in
      try await Self.deleteHalf("notes", users)
      let shown = try await users.admin.get("\(Self.path)/notes")
      let tag = try #require(shown.tag)
      let opened = try await users.admin.put("\(Self.path)/notes", shown.text, ["If-Match: \"\(tag)\""])
      #expect(opened.status == 200 && opened.json["deleting"] == nil, "\(opened.text)")
      var counts: [JSON?] = []
      for device in devices {
        counts.append(try await device.get("/v1/notes").json["count"])
        #expect(try await device.put("/v1/notes/b", #"{"data":1}"#).status == 201)
      }
      #expect(Set(counts) == [0, 1])
    }
  }

  @Test("A server does not start with a module that has the name of a declared collection, and says what to do")
  func takenName() async throws {
    try await Self.twoUsers { users, _ in
      await users.stop()
      #expect {
        try Services.durable(
          users.configuration,
          modules: [.declared(.init(name: "notes", kind: .map))],
          time: users.time.serverTime
        )
        .shutDown()
      } throws: { error in
        "\(error)".contains("notes") && "\(error)".contains("Delete the declaration, or rename the module.")
      }
    }
  }

  @Test("A store with declared collections, also a deleted one, has no damage")
  func checked() async throws {
    try await Self.twoUsers { users, devices in
      _ = try await users.admin.put("\(Self.path)/levels", #"{"kind":"map"}"#)
      _ = try await users.admin.put("\(Self.path)/gone", #"{"kind":"map"}"#)
      for device in devices {
        #expect(try await device.put("/v1/levels/a", "1").status == 201)
        #expect(try await device.put("/v1/gone/a", "1").status == 201)
      }
      #expect(try await users.admin.delete("\(Self.path)/gone?erase=true").status == 204)
      // Collections with the names of deleted ones, and one that got another kind.
      for name in ["again", "other"] {
        #expect(try await users.admin.put("\(Self.path)/\(name)", #"{"kind":"map"}"#).status == 201)
        #expect(try await devices[0].put("/v1/\(name)/a", "1").status == 201)
      }
      #expect(try await users.admin.delete("\(Self.path)/again?erase=true").status == 204)
      #expect(try await users.admin.put("\(Self.path)/again", #"{"kind":"list"}"#).status == 201)
      #expect(try await devices[1].put("/v1/again/b", "{}").status == 201)
      #expect(try await devices[0].delete("/v1/other/a").status == 204)
      #expect(try await users.admin.put("\(Self.path)/other", #"{"kind":"list"}"#).status == 200)
      await users.stop()
      let configuration = users.configuration
      let report =
        if let database = configuration.store { try DatabaseCheck(of: database).run { _, _ in } } else {
          try StoreCheck(of: configuration.data).run()
        }
      #expect(report.findings == [])
    }
  }

  @Test(
    "A restored backup has the collections and their data",
    .enabled(if: TestedStore.isSQLite, TestedStore.sqliteOnly)
  )
  func restored() async throws {
    try await Self.twoUsers { users, devices in
      let copy = users.directory.file("backup.db")
      let throttle = CopyThrottle(bytesPerSecond: nil, elapsed: users.time.serverTime.elapsed, pause: { _ in })
      try StoreBackup(of: users.configuration.data, throttle: throttle).write(to: copy)
      #expect(try await users.admin.delete("\(Self.path)/notes?erase=true").status == 204)
      await users.stop()
      _ = try StoreRestore(to: users.configuration.data).restore(from: copy, overwriting: true)
      try await users.restart()
      for device in devices {
        #expect(try await device.get("/v1/notes/a").json["data"] == 1)
        #expect(try await device.put("/v1/notes/b", #"{"data":2}"#).status == 201)
        let export = try await device.get("/v1/me/export").json
        #expect(export["notes"]?.arrayValue?.count == 2, "\(export["notes"] ?? .null)")
      }
    }
  }

  @Test(
    "All nodes of a fleet take part in a declaration, its change and its deletion",
    .enabled("LOCKSTEP_TEST_POSTGRESQL names no PostgreSQL server") { TestedStore.anyServer != nil }
  )
  func fleet() async throws {
    let token = ServerFixture.administrator
    try await TestDatabase.serve(nodes: 2, changing: { $1.administratorToken = token }) { servers, _ in
      let ada = try await servers[0].signUp()
      let other = ada.at(servers[1])
      #expect(try await servers[0].admin.put("\(Self.path)/notes", #"{"kind":"list"}"#).status == 201)
      try await eventually { try await other.get("/v1/notes").status == 200 }
      #expect(try await other.put("/v1/notes/a", #"{"data":1}"#).status == 201)
      try await eventually { try await ada.get("/v1/notes").json["count"] == 1 }
      // Both nodes write while one of them closes and deletes the collection. Afterwards nothing is left.
      async let deleted = servers[1].admin.delete("\(Self.path)/notes?erase=true").status
      for number in 0..<40 {
        let put = { try await ada.put("/v1/notes/\(number)", #"{"data":1}"#) }
        var response = try await put()
        // The first node knows of the deletion, but its state lacks a removal that the other one has committed.
        try await eventually {
          if response.status == 503, response.text.contains("send the request again") { response = try await put() }
          return response.status != 503
        }
        #expect([201, 404, 409].contains(response.status), "\(response.text)")
      }
      #expect(try await deleted == 204)
      #expect(try await ada.put("/v1/notes/z", #"{"data":1}"#).status == 404)
      #expect(try await servers[0].admin.put("\(Self.path)/notes", #"{"kind":"list"}"#).status == 201)
      try await eventually { try await other.get("/v1/notes").json["count"] == 0 }
    }
  }
}
