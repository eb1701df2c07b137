import LockstepMigrations
import LockstepSQLite
import Testing

@testable import LockstepCollections
@testable import LockstepStateTestSupport
@testable import LockstepModules
@testable import LockstepStore

@Suite("The modules of a store", .enabled(if: TestedStore.isSQLite, TestedStore.sqliteOnly), .timeLimit(.minutes(10)))
struct ModuleRecordsTests {
  private static let notes = UserModule.favorites(named: "notes")
  private let fixture: StoreFixture

  init() throws {
    fixture = try StoreFixture()
  }

  private func open(_ modules: UserModule...) throws(StoreError) {
    try fixture.store(migrator: Migrator(modules: modules)).close()
  }

  private func refusal(_ modules: UserModule...) throws -> String? {
    let before = try fixture.folder.contents(of: "lockstep.db")
    let error = #expect(throws: StoreError.self) { try fixture.store(migrator: Migrator(modules: modules)).close() }
    #expect(try fixture.folder.contents(of: "lockstep.db") == before, "a refused store stays as it was")
    return error?.description
  }

  @Test("The store records the modules of each server that used it")
  func recorded() throws {
    try open()
    try open(Self.notes)
    try open(Self.notes, .scores)
    let known = try fixture.sqlite().all("SELECT name || ' ' || kind FROM modules ORDER BY name") {
      try $0[0] as String
    }
    #expect(known == ["notes list", "scores map"])
  }

  @Test("A store is refused if the server lacks a module that it was served with")
  func missing() throws {
    try open(Self.notes)
    #expect(
      try refusal()
        == "The store \(fixture.path) was served with the module notes, which this server does not have. "
        + "Responses would not contain the module's state, and its history would be lost. Run a server that has the "
        + "module."
    )
  }

  @Test("A list cannot become a map")
  func otherKind() throws {
    try open(.favorites(named: "scores"))
    #expect(
      try refusal(.scores)
        == "The module scores is a list in the store \(fixture.path), but not in this server. Run the server that created "
        + "the store, or give the module another name."
    )
  }
}
