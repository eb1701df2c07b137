import LockstepSQLite
import Testing

@testable import LockstepAccounts
@testable import LockstepCollections
@testable import LockstepStateTestSupport
@testable import LockstepStore

/// Applies mutations to the rows of collections and to a state in memory.
struct ServiceTables {
  let fixture: SyncFixture
  let session: LiveSession

  init() async throws {
    fixture = try SyncFixture()
    session = try await fixture.user(1)
  }

  typealias Facts = [(collection: CollectionName, fact: CollectionMutation)]

  /// Applies each mutation at the next revision. Returns the state in memory and the state that the
  /// rows give.
  func play(
    _ facts: Facts,
    on start: UserState = UserState()
  ) async throws -> (memory: UserState, stored: UserState) {
    let (user, tables) = (session.user, fixture.modules.states)
    return try await fixture.store.writer.write { connection in
      var memory = start
      for (collection, fact) in facts {
        memory.revision = memory.revision.next(in: .unknown)
        let place = MutationLocation(user: user, collection: collection, revision: memory.revision)
        let isList = tables[collection.module]?.reducer.kind == .list
        let reducer = isList ? CollectionReducer.plainList : .plainMap
        let edits = memory.reduce([fact], in: collection, by: reducer, revision: memory.revision)
        try CollectionRows(connection: connection.sqlite).apply(edits, at: place)
      }
      var stored = try tables.load(user, from: connection)
      // The user has no journal here.
      stored.revision = memory.revision
      return (memory, stored)
    }
  }

  func change(_ script: TestSQL) async throws {
    try await fixture.store.writer.write { try $0.execute(script) }
  }
}
