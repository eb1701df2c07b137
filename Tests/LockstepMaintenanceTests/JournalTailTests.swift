import Glibc
import LockstepJSON
import LockstepMigrations
import LockstepSQLite
import LockstepTestSupport
import Testing

@testable import LockstepAccounts
@testable import LockstepCollections
@testable import LockstepMaintenance
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport
@testable import LockstepStore
@testable import LockstepTime

@Suite(
  "Following a user's journal",
  .enabled(if: TestedStore.isSQLite, TestedStore.sqliteOnly),
  .timeLimit(.minutes(10))
)
struct JournalTailTests {
  private let fixture: SyncFixture
  private let session: LiveSession

  init() async throws {
    fixture = try SyncFixture()
    session = try await fixture.user(1)
  }

  private func add(_ ids: String..., as session: LiveSession? = nil) async throws {
    let actions = try ids.map { try fixture.action("favorites", "add", ["id": .string($0)]) }
    try await fixture.commit(actions, as: session ?? self.session)
  }

  private func tail(from start: JournalTail.Start) throws -> JournalTail {
    try JournalTail(of: session.user, in: .file(fixture.files.path), from: start)
  }

  /// The id that each new entry inserted.
  private func look(_ tail: inout JournalTail, limit: Int = 1_000) throws -> [String] {
    try tail.read(limit: limit).map { entry in
      try JSON(parsing: Array(entry.action.utf8))["payload"]?["id"]?.stringValue ?? "?"
    }
  }

  @Test("It begins with the last entries, and then returns each new entry once", arguments: [0, 1, 2, 3, 9])
  func last(count: Int) async throws {
    for id in ["a", "b", "c"] { try await add(id) }
    var tail = try tail(from: .last(count))
    #expect(try look(&tail) == ["a", "b", "c"].suffix(count))
    #expect(try look(&tail) == [])
    try await add("d")
    try await add("e", "f")
    #expect(try look(&tail) == ["d", "e", "f"])
    #expect(try look(&tail) == [])
  }

  @Test("Entries of other users are not returned")
  func others() async throws {
    var tail = try tail(from: .last(9))
    try await add("theirs", as: try await fixture.user(2))
    #expect(try look(&tail) == [])
    try await add("mine")
    #expect(try look(&tail) == ["mine"])
  }

  @Test("From a cursor on it returns the entries after it, and an unknown cursor is refused")
  func cursor() async throws {
    try await add("a")
    var all = try tail(from: .last(9))
    let cursors = try all.read().map(\.cursor)
    try await add("b")
    var tail = try tail(from: .cursor(try #require(cursors.last)))
    #expect(try look(&tail) == ["b"])
    for text in ["nonsense", "00000000.1.0", "\(fixture.store.id.prefix(8)).7.0"] {
      var tail = try self.tail(from: .cursor(text))
      #expect(throws: MaintenanceError.unknownCursor(text)) { try tail.read() }
    }
  }

  @Test("From a time on it returns the entries at that time or later")
  func time() async throws {
    try await add("a")
    fixture.clock.advance(by: .seconds(10))
    try await add("b")
    for (moment, ids) in [(1_000_000, ["a", "b"]), (1_000_001, ["b"]), (1_010_000, ["b"]), (1_010_001, [])] {
      var tail = try tail(from: .time(Timestamp(millisecondsSince1970: Int64(moment))))
      #expect(try look(&tail) == ids)
    }
  }

  @Test("With a limit, no entry is lost, and no transaction is split")
  func limit() async throws {
    try await add("a")
    try await add("b", "c", "d")
    try await add("e")
    var tail = try tail(from: .last(9))
    #expect(try look(&tail, limit: 2) == ["a", "b", "c", "d"])
    #expect(try look(&tail, limit: 2) == ["e"])
    #expect(try look(&tail, limit: 2) == [])
  }

  @Test("An entry has its time, session, collection, action and mutations")
  func entry() async throws {
    try await fixture.commit([try fixture.set("theme", "dark")], as: session)
    var tail = try tail(from: .last(1))
    #expect(
      try tail.read() == [
        JournalTail.Entry(
          cursor: "\(fixture.store.id.prefix(8)).1.0",
          at: Timestamp(millisecondsSince1970: 1_000_000),
          device: nil,
          session: "\(session.id)",
          agent: nil,
          collection: "defaults/standard",
          action: #"{"type":"set","payload":{"suite":"standard","key":"theme","value":"dark"}}"#,
          mutations: #"[{"type":"set","payload":{"key":"theme","value":"dark"}}]"#
        )
      ]
    )
  }

  @Test("A store with an earlier schema is refused")
  func older() throws {
    let files = try StoreFixture()
    let known = Migration.all.count
    try files.store(migrator: Migrator(Array(Migration.all.dropLast()))).close()
    #expect(throws: MaintenanceError.olderSchema(path: files.path, found: known - 1, known: known)) {
      try JournalTail(of: session.user, in: .file(files.path), from: .last(1))
    }
  }

  @Test("An erased user and a replaced file are errors")
  func gone() async throws {
    try await add("a")
    var tail = try tail(from: .last(1))
    #expect(try look(&tail) == ["a"])
    let user = session.user
    try await fixture.store.writer.write {
      try UserRecords(connection: $0).erase(user, at: Timestamp(millisecondsSince1970: 0))
    }
    #expect(throws: MaintenanceError.erased) { try tail.read() }
    let path = fixture.files.path
    let bytes = try fixture.files.folder.contents(of: "lockstep.db")
    unlink(path)
    try fixture.files.folder.write(bytes, to: "lockstep.db")
    #expect(throws: MaintenanceError.replaced(path: path)) { try tail.read() }
  }
}
