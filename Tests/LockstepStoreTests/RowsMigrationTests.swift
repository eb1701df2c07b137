import Foundation
import LockstepJSON
import LockstepMigrations
import LockstepSQLite
import LockstepTestSupport
import Testing

@testable import LockstepCollections
@testable import LockstepStateTestSupport
@testable import LockstepModules
@testable import LockstepStore

@Suite(
  "The migration that moves all elements into two tables",
  .enabled(if: TestedStore.isSQLite, TestedStore.sqliteOnly),
  .timeLimit(.minutes(10))
)
struct RowsMigrationTests {
  private static let before = Array(Migration.all.prefix(16))
  /// Every control character, and others that JSON writers treat in different ways.
  private static let texts =
    (UInt8(0)..<0x20).map { "x\(Character(Unicode.Scalar($0)))y" }
    + ["", " ", "\"", "\\", "\\u0041", "/", "</script>", "\u{7F}", "\u{80}", "\u{9F}", "\u{2028}\u{2029}", "\u{FEFF}"]
    + [
      "\u{E9}", "e\u{301}", "\u{1F600}", "\u{10FFFF}", "\u{D7FF}\u{E000}", "'; DROP TABLE users; --", "'", "?1", "null",
    ]
  private static let values = [
    "null", "1.0", "1E400", "-0", "0.1e-7", "12345678901234567890", #""\ud83d\ude00""#, #""\u2028\/""#, "\"\u{2028}\"",
    #"{"b":1,"a":{"b":[]}}"#, "[ 1 ,2 ]",
  ]

  private let fixture: StoreFixture
  private let user: UserID

  init() throws {
    fixture = try StoreFixture()
    user = try #require(UserID("01890000-0000-7000-8000-000000000001"))
    try fixture.store(migrator: Migrator(Self.before, modules: [.notes, .scores])).close()
    let connection = try fixture.sqlite()
    try connection.run(
      "INSERT INTO users (id, password_version, password_changed_at, created_at) VALUES (?, 1, 0, 0)",
      user
    )
  }

  /// Migrates the store, and returns the user's state.
  private func load() throws -> UserState {
    let store = try fixture.store(migrator: Migrator(modules: [.notes, .scores]))
    defer { store.close() }
    let tables = ModuleTables([
      .favorites(), DefaultsModule(quota: DefaultsQuota()).userModule, .profile, .notes, .scores,
    ])
    return try store.write { try tables.load(user, from: $0) }
  }

  @Test("Favorites have the bytes that the server writes, with any text, and with or without title and data")
  func favorites() throws {
    let connection = try fixture.sqlite()
    var expected: [String] = []
    for (index, text) in Self.texts.enumerated() {
      for (title, data) in [(text, Self.values[index % Self.values.count]), (nil, "1"), (text, nil), (nil, nil)] {
        let id = "\(expected.count)\(text)"
        try connection.run(
          "INSERT INTO favorites VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
          user,
          id,
          title,
          data,
          "1994-11-06T08:49:37.000Z",
          "u\(text)",
          expected.count,
          Revision(number: 1 + expected.count)
        )
        let content = [title.map { "\"title\":\(JSON.string($0))" }, data.map { "\"data\":\($0)" }].compactMap { $0 }
        let times = ["\"addedAt\":\"1994-11-06T08:49:37.000Z\"", "\"updatedAt\":\(JSON.string("u\(text)"))"]
        expected.append("{" + (["\"id\":\(JSON.string(id))"] + content + times).joined(separator: ",") + "}")
      }
    }
    try fixture.store(migrator: Migrator(modules: [.notes, .scores])).close()
    let elements = try connection.all("SELECT element FROM list_elements ORDER BY rank") { try $0[0] as String }
    #expect(elements == expected)
    // As in the sqlite3 shell. The server's connections do not let a view call functions of JSON.
    try connection.execute("PRAGMA trusted_schema = ON")
    let titles = try connection.all("SELECT title FROM favorites ORDER BY rank") { try $0[0] as String? }
    // SQLite itself ends the first text at U+0000.
    #expect(titles.dropFirst(4) == Self.texts.flatMap { [$0, nil, $0, nil] }.dropFirst(4))
    // A server never writes such a number, so it does not read it.
    try connection.run("DELETE FROM list_elements WHERE element LIKE '%1E400%'")
    let list = try load().list(CollectionName("favorites"))
    let readable = expected.enumerated().filter { !$0.element.contains("1E400") }
    #expect(list.items.map { String(decoding: $0.encoded, as: UTF8.self) } == readable.map(\.element))
    #expect(list.items.map(\.revision.number) == readable.map { $0.offset + 1 })
  }

  @Test("Defaults, profiles and the elements of modules keep their bytes, ranks and revisions")
  func values() throws {
    let connection = try fixture.sqlite()
    for (index, value) in Self.values.enumerated() {
      for suite in ["standard", "Other_1.2-x"] {
        let revision = Revision(number: index + 1)
        try connection.run(
          "INSERT INTO defaults VALUES (?, ?, ?, ?, ?)",
          user,
          suite,
          "k\(index)",
          value,
          revision
        )
      }
      let score = Revision(number: 100 + index)
      try connection.run(
        "INSERT INTO map_values VALUES (?, 'scores', ?, ?, ?)",
        user,
        Self.texts[index],
        value,
        score
      )
    }
    try connection.run(
      "INSERT INTO profiles VALUES (?, 'position', '\"a\u{2028}\"', ?)",
      user,
      Revision(number: 7)
    )
    for (rank, id) in ["z", "a"].enumerated() {
      let note = #"{"id":"\#(id)","text":"\u0041","madeAt":"1994-11-06T08:49:37.000Z"}"#
      try connection.run("INSERT INTO list_elements VALUES (?, 'notes', ?, ?, ?, 5)", user, id, note, rank)
    }
    let state = try load()
    for suite in ["standard", "Other_1.2-x"] {
      let map = state.map(Suite.collection(suite))
      for (index, value) in Self.values.enumerated() {
        #expect(map["k\(index)"]?.encoded == Array(value.utf8))
        #expect(map["k\(index)"]?.revision.number == index + 1)
      }
    }
    let scores = state.map(CollectionName("scores"))
    #expect(Self.values.indices.allSatisfy { scores[Self.texts[$0]]?.encoded == Array(Self.values[$0].utf8) })
    #expect(state.map(CollectionName("profile"))["position"]?.encoded == Array("\"a\u{2028}\"".utf8))
    #expect(state.list(CollectionName("notes")).items.map(\.id.text) == ["z", "a"])
    let suites = try fixture.sqlite().all("SELECT DISTINCT suite FROM defaults ORDER BY suite") { try $0[0] as String }
    #expect(suites == ["Other_1.2-x", "standard"])
    let position: String? = try fixture.sqlite().first("SELECT field || value FROM profiles") { try $0[0] }
    #expect(position == "position\"a\u{2028}\"")
  }

  @Test("The head of a user is the last entry of the journal, or empty")
  func heads() throws {
    let other = "01890000-0000-7000-8000-000000000002"
    try fixture.sqlite().execute(
      """
      INSERT INTO users (id, password_version, password_changed_at, created_at) VALUES ('\(other)', 1, 0, 0);
      INSERT INTO journal (user_id, revision, position, written, collection, at, action, mutations) VALUES
        ('\(user)', 3 << 20 | 9, 0, 40, 'profile', 0, '{}', '[]'),
        ('\(user)', 4 << 20 | 8, 1, 60, 'profile', 0, '{}', '[]'),
        ('\(user)', 4 << 20 | 8, 0, 50, 'profile', 0, '{}', '[]');
      """
    )
    #expect(try load().revision == Revision(number: 4, eraNumber: 8))
    let rows = try fixture.sqlite().all("SELECT number, era, written FROM heads ORDER BY user_id") { row in
      [try row[0] as Int, try row[1], try row[2]]
    }
    #expect(rows == [[4, 8, 60], [0, 0, 0]])
  }

  @Test("The old tables leave no text in the file, so that an erased user is erased")
  func erased() throws {
    let secret = "unmistakable \(UUID())"
    let connection = try fixture.sqlite()
    for number in 0..<200 {
      try connection.run(
        "INSERT INTO favorites VALUES (?, ?, ?, NULL, 't', 't', ?, 0)",
        user,
        "\(number)",
        secret,
        number
      )
    }
    let store = try fixture.store(migrator: Migrator(modules: [.notes, .scores]))
    try store.write { connection in
      try connection.run("DELETE FROM users WHERE id = ?", user)
      connection.eraseDeleted()
    }
    store.close()
    for name in try FileManager.default.contentsOfDirectory(atPath: fixture.folder.path) {
      #expect(try Data(fixture.folder.contents(of: name)).range(of: Data(secret.utf8)) == nil, "\(name)")
    }
  }

  @Test("A server of the version before refuses the migrated store, and changes nothing")
  func downgrade() throws {
    _ = try load()
    let migrated = try fixture.folder.contents(of: "lockstep.db")
    #expect(throws: StoreError.newerSchema(path: fixture.path, found: Migration.all.count, known: 16)) {
      try fixture.store(migrator: Migrator(Self.before, modules: [.notes, .scores]))
    }
    #expect(try fixture.folder.contents(of: "lockstep.db") == migrated)
  }
}
