import LockstepCollections
import LockstepJSON
import LockstepTestSupport
import Testing

@testable import LockstepMaintenance
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport

/// Modules whose `reduce` does more than apply the mutation. Clients must see its results.
@Suite("A state is changed only by its module's own `reduce`", .timeLimit(.minutes(10)))
struct UnusualReduceTests {
  private static func ids(_ response: RawResponse) -> [String] {
    (response.json["items"]?.arrayValue ?? []).compactMap { $0["id"]?.stringValue }
  }

  private static func run(
    _ module: UserModule,
    _ body: (ServerFixture, Device) async throws -> Void
  ) async throws {
    try await ServerFixture.run(modules: [module]) { server in try await body(server, try await server.signUp()) }
  }

  /// Puts four elements, and returns the cursor after the second.
  private static func fill(_ ada: Device) async throws -> String {
    _ = try await ada.put("/v1/latest/a", "{}")
    let cursor = try #require(try await ada.put("/v1/latest/b", "{}").field("cursor"))
    _ = try await ada.put("/v1/latest/c", "{}")
    _ = try await ada.put("/v1/latest/d", "{}")
    return cursor
  }

  @Test(
    "Its results are in responses, at a past cursor, in the feed, after a restart and in a check",
    arguments: [
      (UserModule.latest(LatestTwo.self), ["a", "b"], ["c", "d"]),
      (UserModule.latest(OnlyTheLatest.self), ["b"], ["d"]),
    ]
  )
  func everywhere(module: UserModule, past: [String], present: [String]) async throws {
    try await Self.run(module) { server, ada in
      let cursor = try await Self.fill(ada)
      for round in 1...2 {
        let read = try await ada.get("/v1/latest")
        #expect(Self.ids(read) == present, "round \(round)")
        #expect(Self.ids(try await ada.get("/v1/latest?at=\(cursor)")) == past, "round \(round)")
        let feed = try await ada.get("/v1/changes?since=\(cursor)")
        let changes = try #require(feed.json["changesets"]?.arrayValue?.first)
        #expect((changes["deletions"]?.arrayValue ?? []).compactMap { $0["id"]?.stringValue } == past)
        #expect((changes["insertions"]?.arrayValue ?? []).compactMap { $0["item"]?["id"]?.stringValue } == present)
        // After the restart, the state comes from the tables and the past state from the journal.
        try await server.restart()
      }
      guard TestedStore.isSQLite else { return }
      let report = try StoreCheck(of: server.directory.file("lockstep.db"), modules: [module]).run()
      #expect(report.findings.isEmpty, "\(report.findings)")
    }
  }

  @Test("With a `reduce` that does nothing, no element is visible")
  func nothing() async throws {
    try await Self.run(.latest(Nothing.self)) { server, ada in
      let action = #"{"type":"put","payload":{"id":"a"}}"#
      #expect(try await ada.post("/v1/latest/actions", action).status == 200)
      for _ in 1...2 {
        #expect(Self.ids(try await ada.get("/v1/latest")).isEmpty)
        try await server.restart()
      }
    }
  }
}

/// Puts elements at the end; `Reducing` decides what becomes of them.
private struct LatestReactor<Reducing: LatestReducing>: ModuleReactor {
  func mutate(_ id: String, in list: ListState) throws(Refusal) -> [ListMutation] {
    [.inserting(Latest(id: id), at: list.count)]
  }

  static func reduce(_ list: inout ListState, _ mutation: ListMutation) { Reducing.reduce(&list, mutation) }
}

private protocol LatestReducing: SendableMetatype {
  static func reduce(_ list: inout ListState, _ mutation: ListMutation)
}

/// Keeps the two newest elements.
private enum LatestTwo: LatestReducing {
  static func reduce(_ list: inout ListState, _ mutation: ListMutation) {
    list.apply(mutation)
    while list.count > 2, let first = list.items.first { list.apply(.removed(id: first.id.text)) }
  }
}

/// Replaces the list by one with the new element.
private enum OnlyTheLatest: LatestReducing {
  static func reduce(_ list: inout ListState, _ mutation: ListMutation) {
    list = ListState()
    list.apply(mutation)
  }
}

private enum Nothing: LatestReducing {
  static func reduce(_ list: inout ListState, _ mutation: ListMutation) {}
}

private struct Latest: Codable, Identifiable, Equatable, Sendable {
  let id: String
}

extension UserModule {
  fileprivate static func latest<Reducing: LatestReducing>(_ type: Reducing.Type) -> UserModule {
    .list("latest", of: Latest.self, actions: [ActionCase("put", .name("id")) { $0 }], verbs: [.put: "put"]) { _ in
      LatestReactor<Reducing>()
    }
  }
}
