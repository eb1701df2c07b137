import Glibc
import LockstepJSON
import LockstepSQLite
import LockstepTestSupport
import Testing

@Suite(
  "`copy` moves a whole store to PostgreSQL and back",
  .enabled("LOCKSTEP_TEST_POSTGRESQL names no PostgreSQL server") { StoreSchema.server != nil },
  .serialized,
  .timeLimit(.minutes(10))
)
struct CopyTests {
  private let schema: StoreSchema
  private let folder: TemporaryDirectory
  private let onFile: Operator
  private let onDatabase: Operator

  init() throws {
    schema = try StoreSchema()
    let operators = try Operator([:])
    folder = operators.folder
    onFile = Operator(in: folder, ["LOCKSTEP_DATA": folder.file("store.db")])
    onDatabase = Operator(in: folder, ["LOCKSTEP_STORE": schema.connectionString])
  }

  private var file: String { folder.file("store.db") }

  private func copy(_ source: String, _ target: String) async throws -> Operator.Outcome {
    try await onFile.run("copy", "--from", source, "--to", target)
  }

  /// The source of a copy: two users with favorites, defaults, a profile, sessions, a service token and
  /// registered defaults. Returns the token of the first user.
  private func write(by commands: Operator) async throws -> String {
    var token = ""
    try await commands.serve(["--admin-token", "secret"]) { port in
      func expect(
        _ status: Int,
        _ method: String,
        _ target: String,
        _ body: String?,
        _ token: String,
        _ fields: String = ""
      )
        async throws
      {
        let response = try await Operator.ask(port, method, target, body, token: token, fields: fields)
        #expect(response.status == status, "\(method) \(target): \(String(decoding: response.body, as: UTF8.self))")
      }
      try await expect(201, "PUT", "/v1/admin/collections/notes", #"{"kind":"list"}"#, "secret")
      for name in ["ada", "bob"] {
        let added = try await commands.run("user", "add", "\(name)@example.com", input: "correct horse\n")
        #expect(added.code == .exit(0), "\(added.errors)")
        let own = try await Operator.logIn(port, "\(name)@example.com", device: "Ünïcode")
        if name == "ada" { token = own }
        try await expect(201, "PUT", "/v1/notes/n", #"{"data":{"x":1}}"#, own)
        for (index, id) in ["a", "b", "c", "\u{1F469} “quoted” \\"].enumerated() {
          let add = JSON.object([
            "actions": [
              ["module": "favorites", "type": "add", "payload": ["id": .string(id), "data": ["n": [1, 2.5, .null]]]]
            ]
          ])
          try await expect(200, "POST", "/v1/actions", add.description, own, "Idempotency-Key: \(name)-\(index)\r\n")
        }
        try await expect(200, "PATCH", "/v1/favorites/a", #"{"title":"Ünï\u0007 title"}"#, own)
        try await expect(204, "DELETE", "/v1/favorites/b", nil, own)
        try await expect(201, "PUT", "/v1/defaults/standard/theme", #"{"dark":true}"#, own)
        try await expect(201, "PUT", "/v1/defaults/other.suite/k", "[1]", own)
        try await expect(200, "PATCH", "/v1/profile", #"{"companyName":"日本"}"#, own)
      }
      try await expect(200, "PATCH", "/v1/admin/registered/standard", #"{"size":12}"#, "secret")
      try await expect(201, "POST", "/v1/admin/tokens", #"{"name":"backend","scopes":["read"]}"#, "secret")
    }
    return token
  }

  /// The text without the times of the last use of sessions, which this test's requests may change.
  private static func withoutUses(_ text: String) -> String {
    text.replacing(/"(lastSeenAt|expiresAt)": ?"[^"]*"/, with: "")
  }

  /// The parts of a store that clients see.
  private func contents(of commands: Operator, _ token: String) async throws -> [String] {
    var contents: [String] = []
    try await commands.serve(["--admin-token", "secret"]) { port in
      for target in [
        "favorites", "defaults/standard", "defaults/other.suite", "profile", "notes", "journal", "changes",
        "sessions",
      ] {
        let response = try await Operator.ask(port, "GET", "/v1/\(target)", token: token)
        #expect(response.status == 200)
        let tag = target == "sessions" ? "" : response.field("ETag") ?? ""
        contents.append("\(tag) \(Self.withoutUses(String(decoding: response.body, as: UTF8.self)))")
      }
      for target in ["tokens", "journal", "registered/standard", "collections"] {
        let response = try await Operator.ask(port, "GET", "/v1/admin/\(target)", token: "secret")
        #expect(response.status == 200)
        contents.append(String(decoding: response.body, as: UTF8.self))
      }
    }
    for user in ["ada@example.com", "bob@example.com"] {
      contents.append(Self.withoutUses(try await commands.run("user", "export", user).output))
    }
    return contents
  }

  @Test("Exports, cursors, tokens and journals are the same in PostgreSQL and after the way back")
  func bothWays() async throws {
    let token = try await write(by: onFile)
    let before = try await contents(of: onFile, token)
    let there = try await copy(file, schema.connectionString)
    #expect(there.code == .exit(0), "\(there.errors)")
    #expect(there.output.contains(": 2 users, 14 elements, 20 journal entries, "), "\(there.output)")
    let after = try await contents(of: onDatabase, token)
    for (index, text) in before.enumerated() { #expect(after[index] == text) }
    #expect(try await onDatabase.run("check").code == .exit(0))

    let back = folder.file("back.db")
    let again = try await copy(schema.connectionString, back)
    #expect(again.code == .exit(0), "\(again.errors)")
    let returned = try await contents(of: Operator(in: folder, ["LOCKSTEP_DATA": back]), token)
    for (index, text) in before.enumerated() { #expect(returned[index] == text) }
    #expect(access("\(back).partial", F_OK) != 0)
    #expect(try await onFile.run("check", "--data", back).code == .exit(0))
  }

  @Test("A client goes on where it was: its ETag is known, and writes continue the journal")
  func continues() async throws {
    let token = try await write(by: onFile)
    var etag = ""
    try await onFile.serve { port in
      etag = try #require(try await Operator.ask(port, "GET", "/v1/favorites", token: token).field("ETag"))
    }
    #expect(try await copy(file, schema.connectionString).code == .exit(0))
    try await onDatabase.serve { port in
      let same = "If-None-Match: \(etag)\r\n"
      #expect(try await Operator.ask(port, "GET", "/v1/favorites", token: token, fields: same).status == 304)
      // The same key is not applied again.
      let body = #"{"actions":[{"module":"favorites","type":"add","payload":{"id":"a","data":{"n":[1,2.5,null]}}}]}"#
      let key = "Idempotency-Key: ada-0\r\n"
      _ = try await Operator.ask(port, "POST", "/v1/actions", body, token: token, fields: key)
      #expect(try await Operator.ask(port, "PUT", "/v1/favorites/new", "{}", token: token).status == 201)
      let changes = try JSON(
        parsing: try await Operator.ask(port, "GET", "/v1/changes?since=\(etag.filter { $0 != "\"" })", token: token)
          .body
      )
      #expect(changes["reset"] == false && changes["revision"]?.intValue == 11)
    }
    // The place of the new entry is after all others.
    #expect(
      try schema.count("SELECT count(*) FROM journal WHERE number = 11 AND place = (SELECT max(place) FROM journal)")
        == 1
    )
    #expect(try await onDatabase.run("check").code == .exit(0))
  }

  @Test(
    "A copy into PostgreSQL that was killed goes on, no server uses the half copy, and changes of the source follow"
  )
  func killed() async throws {
    let token = try await write(by: onFile)
    #expect(try await copy(file, schema.connectionString).code == .exit(0))
    // A copy that was killed after the first user: the second is missing, and the mark is there.
    let source = try #require(try Self.storeID(of: file))
    for table in [
      "addresses", "sessions", "tokens", "heads", "list_elements", "map_values", "removals", "journal", "snapshots",
      "idempotency_keys",
    ] {
      try schema.execute("DELETE FROM \(table) WHERE user_id = (SELECT max(id::text)::uuid FROM users)")
    }
    try schema.execute(
      """
      DELETE FROM users WHERE id = (SELECT max(id::text)::uuid FROM users);
      CREATE TABLE unfinished_copy (source text NOT NULL); INSERT INTO unfinished_copy VALUES ('\(source)')
      """
    )
    for arguments in [["serve", "--port", "0"], ["user", "list"], ["migrate"], ["check"]] {
      let process = try LockstepProcess(
        arguments,
        in: folder,
        name: arguments[0],
        variables: onDatabase.variables
      )
      #expect(await process.ended() == .exit(78), "\(arguments)")
      #expect(process.errors.contains("it contains an unfinished copy of another store"), "\(process.errors)")
    }
    // The source was used since: the first user has changed.
    try await onFile.serve { port in
      let later = try await Operator.ask(port, "PUT", "/v1/favorites/later", "{}", token: token)
      #expect(later.status == 201)
    }
    let second = try await copy(file, schema.connectionString)
    #expect(second.code == .exit(0), "\(second.errors)")
    let (copied, expected) = (try await contents(of: onDatabase, token), try await contents(of: onFile, token))
    for (index, text) in expected.enumerated() { #expect(copied[index] == text) }
  }

  @Test("A copy into a file that is killed leaves no file with the final name, and goes on")
  func killedOntoFile() async throws {
    let token = try await write(by: onFile)
    #expect(try await copy(file, schema.connectionString).code == .exit(0))
    let back = folder.file("back.db")
    let process = try LockstepProcess(
      ["copy", "--from", schema.connectionString, "--to", back],
      in: folder,
      name: "copy"
    )
    // The copy may have finished before.
    await eventually { access("\(back).partial", F_OK) == 0 || access(back, F_OK) == 0 }
    process.send(SIGKILL)
    _ = await process.ended()
    // If the final name is there, the contents must be complete.
    if access(back, F_OK) != 0 {
      let again = try await copy(schema.connectionString, back)
      #expect(again.code == .exit(0), "\(again.errors)")
    }
    let commands = Operator(in: folder, ["LOCKSTEP_DATA": back])
    let (copied, expected) = (try await contents(of: commands, token), try await contents(of: onFile, token))
    for (index, text) in expected.enumerated() { #expect(copied[index] == text) }
  }

  @Test("A target with contents, or with a part of another store, is refused and stays as it is")
  func otherTargets() async throws {
    _ = try await write(by: onFile)
    try await onDatabase.serve { _ in
      let added = try await onDatabase.run("user", "add", "eve@example.com", input: "correct horse\n")
      #expect(added.code == .exit(0))
    }
    let full = try await copy(file, schema.connectionString)
    #expect(full.code == .exit(73) && full.errors.contains("is not empty. Nothing was changed."), "\(full.errors)")
    #expect(
      try schema.count(
        "SELECT count(*) FROM pg_class WHERE relname = 'unfinished_copy' AND relnamespace = current_schema()::regnamespace"
      ) == 0
    )
    #expect(try await onDatabase.run("user", "list").output.contains("eve@example.com"))

    let onto = try await copy(schema.connectionString, file)
    #expect(onto.code == .exit(73) && onto.errors.contains("is not empty."), "\(onto.errors)")
    #expect(access("\(file).partial", F_OK) != 0)
    let same = try await copy(file, file)
    #expect(same.code == .exit(64) && same.errors.contains("is both the source and the target."))

    try schema.execute("CREATE TABLE unfinished_copy (source text NOT NULL); INSERT INTO unfinished_copy VALUES ('x')")
    let other = try await copy(file, schema.connectionString)
    #expect(
      other.code == .exit(73) && other.errors.contains("contains an unfinished copy of another store"),
      "\(other.errors)"
    )
    #expect(try schema.count("SELECT count(*) FROM users") == 1)

    let theirs = try StoreSchema()
    try theirs.execute("CREATE TABLE notes (a integer)")
    #expect(try await copy(file, theirs.connectionString).code == .exit(78))
    #expect(try theirs.count("SELECT count(*) FROM pg_tables WHERE schemaname = current_schema()") == 1)
    #expect(try await copy(folder.file("none.db"), schema.connectionString).code == .exit(66))
    #expect(try await copy(file, folder.file("none/x.db")).code == .exit(73))
  }

  @Test("A store that a server uses is neither source nor target")
  func served() async throws {
    _ = try await write(by: onFile)
    try await onFile.serve { _ in
      let refused = try await copy(file, schema.connectionString)
      #expect(refused.code == .exit(75) && refused.errors.contains("is using the store"), "\(refused.errors)")
    }
    #expect(try schema.count("SELECT count(*) FROM pg_tables WHERE schemaname = current_schema()") == 0)
    /// On a busy machine, the server may lose its lease for a moment.
    func untilLeased() async throws {
      let leased = "SELECT count(*) FROM nodes WHERE lease_until > clock_timestamp() + interval '1 s'"
      try await eventually { try schema.count(leased) == 1 }
    }
    try await onDatabase.serve { _ in
      try await untilLeased()
      let target = try await copy(file, schema.connectionString)
      #expect(target.code == .exit(75) && target.errors.contains("is using the store"), "\(target.errors)")
      try await untilLeased()
      let source = try await copy(schema.connectionString, folder.file("x.db"))
      #expect(source.code == .exit(75), "\(source.errors)")
    }
    #expect(access(folder.file("x.db"), F_OK) != 0)
  }

  @Test("A newer schema of the source or of the target has the exit code of `serve`: 65 of a file, 78 of a database")
  func newerSchema() async throws {
    _ = try await write(by: onFile)
    try await onDatabase.serve { _ in }
    let newer = folder.file("newer.db")
    try folder.write(try folder.contents(of: "store.db"), to: "newer.db")
    try SQLiteConnection(path: newer, journal: .asFound).execute("PRAGMA user_version = 1000000")
    let before = try folder.contents(of: "newer.db")
    func expect(_ code: Int32, _ arguments: String...) async throws {
      let process = try LockstepProcess(arguments, in: folder, name: "newer-\(arguments.joined().utf8.count)")
      #expect(await process.ended() == .exit(code), "\(arguments): \(process.errors)")
      #expect(process.errors.contains("A newer lockstep has"), "\(arguments): \(process.errors)")
    }
    try await expect(65, "copy", "--from", newer, "--to", schema.connectionString)
    try await expect(65, "copy", "--from", schema.connectionString, "--to", newer)
    try await expect(65, "serve", "--port", "0", "--data", newer)
    #expect(try folder.contents(of: "newer.db") == before)
    try schema.execute("INSERT INTO migrations VALUES (99, 'future', 'x', 1)")
    try await expect(78, "copy", "--from", schema.connectionString, "--to", folder.file("x.db"))
    try await expect(78, "copy", "--from", file, "--to", schema.connectionString)
    try await expect(78, "serve", "--port", "0", "--store", schema.connectionString)
    #expect(access(folder.file("x.db"), F_OK) != 0)
  }

  @Test("The advice of an error names the options of `copy`")
  func advice() async throws {
    let missing = try await copy(folder.file("none.db"), schema.connectionString)
    #expect(
      missing.code == .exit(66) && missing.errors.contains("Name an existing store with --from."),
      "\(missing.errors)"
    )
    let empty = try await copy(schema.connectionString, folder.file("x.db"))
    #expect(empty.code == .exit(66), "\(empty.errors)")
    #expect(empty.errors.contains("Name the database of a store with --from."), "\(empty.errors)")
    for errors in [missing.errors, empty.errors] {
      #expect(!errors.contains("--data") && !errors.contains("--store") && !errors.contains("LOCKSTEP_"), "\(errors)")
    }
  }

  @Test("A damaged source is not passed off as a complete copy")
  func damaged() async throws {
    _ = try await write(by: onFile)
    let connection = try SQLiteConnection(path: file, journal: .asFound)
    try connection.execute("DELETE FROM list_elements WHERE id = 'a'")
    let copied = try await copy(file, schema.connectionString)
    #expect(copied.code == .exit(65) && copied.errors.contains("is not complete"), "\(copied.errors)")
    #expect(try await onDatabase.run("user", "list").code == .exit(78))
  }

  private static func storeID(of file: String) throws -> String? {
    try SQLiteConnection(path: file, access: .readOnly, journal: .asFound)
      .first("SELECT id FROM store") { row in try row[0] as String }
  }
}
