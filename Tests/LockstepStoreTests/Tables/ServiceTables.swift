import LockstepSQLite
import Testing

@testable import LockstepAccounts
@testable import LockstepCollections
@testable import LockstepStateTestSupport
@testable import LockstepStore

/// Applies mutations to a module's table and to a state in memory.
struct ServiceTables {
  let fixture: SyncFixture
  let session: LiveSession

  init() async throws {
    fixture = try SyncFixture()
    session = try await fixture.user(1)
  }

  typealias Facts = [(collection: CollectionName, fact: CollectionMutation)]

  /// Applies each mutation at the next revision. Returns the state in memory and the state that the
  /// table loads.
  func play(
    _ facts: Facts,
    on start: UserState = UserState(),
    into service: any CollectionTable
  ) async throws -> (memory: UserState, stored: UserState) {
    let user = session.user
    return try await fixture.store.writer.write { connection in
      var memory = start
      for (collection, fact) in facts {
        memory.revision = memory.revision.next(in: .unknown)
        let place = MutationLocation(user: user, collection: collection, revision: memory.revision)
        let reducer = service.kind == .list ? CollectionReducer.plainList : .plainMap
        let edits = memory.reduce([fact], in: collection, by: reducer, revision: memory.revision)
        try service.apply(edits, at: place, to: connection.sqlite)
      }
      var stored = UserState()
      stored.revision = memory.revision
      try service.load(into: &stored, of: user, from: connection.sqlite)
      try RemovalRecords.loadRevisions(into: &stored, of: user, from: connection.sqlite) { _ in service.kind }
      return (memory, stored)
    }
  }

  func change(_ script: TestSQL) async throws {
    try await fixture.store.writer.write { try $0.execute(script) }
  }
}
