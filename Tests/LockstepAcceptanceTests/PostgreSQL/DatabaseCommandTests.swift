import Glibc
import LockstepJSON
import LockstepTestSupport
import Testing

@Suite(
  "The commands work on a store in PostgreSQL",
  .enabled("LOCKSTEP_TEST_POSTGRESQL names no PostgreSQL server") { StoreSchema.server != nil },
  .serialized,
  .timeLimit(.minutes(10))
)
struct DatabaseCommandTests {
  private let schema: StoreSchema
  private let commands: Operator

  init() throws {
    schema = try StoreSchema()
    commands = try Operator(["LOCKSTEP_STORE": schema.connectionString])
  }

  private func add(_ email: String = "ada@example.com") async throws -> String {
    let added = try await commands.run("user", "add", email, input: "correct horse\n")
    #expect(added.code == .exit(0), "\(added.errors)")
    return String(added.output.dropLast())
  }

  @Test("Admin commands take effect at all nodes, so that sessions end at once, and the store passes the check")
  func served() async throws {
    try await commands.serve { port in
      let id = try await add()
      let token = try await Operator.logIn(port)
      let written = try await Operator.ask(port, "PUT", "/v1/favorites/p", #"{"title":"Aurora"}"#, token: token)
      #expect(written.status == 201)
      let told = try JSON(parsing: try await Operator.ask(port, "GET", "/v1/me/export", token: token).body)
      let export = try JSON(parsing: Array(try await commands.run("user", "export", id).output.utf8))
      #expect(export["favorites"] == told["favorites"] && export["cursor"] == told["cursor"])
      #expect(export["journal"] == told["journal"] && export["journal"]?.arrayValue?.count == 1)

      let tail = try await commands.run("tail", "--user", "ada@example.com", "--once")
      #expect(tail.output.contains(#"iPad  favorites  add {"id":"p","title":"Aurora"}  =>  inserted p"#))
      // Transactions of other tests may hide the entry for a moment.
      var all = ""
      try await eventually {
        all = try await commands.run("tail", "--once", "--json").output
        return !all.isEmpty
      }
      #expect(try JSON(parsing: Array(all.utf8))["user"]?.stringValue == id)

      let check = try await commands.run("check")
      #expect(check.code == .exit(0) && check.output.hasSuffix("No damage.\n"), "\(check.output)\(check.errors)")
      for way in [["--store", schema.connectionString], ["--port", "\(port)"]] {
        // On a busy machine, the server may lose its lease for a moment, or check its store for
        // too long.
        try await eventually { try await commands.run(["health", "--timeout", "5m"] + way).output == "ready\n" }
      }

      #expect(try await commands.run("user", "disable", id).code == .exit(0))
      #expect(try await Operator.ask(port, "GET", "/v1/me", token: token).status == 401)
      #expect(try await commands.run("user", "list").output.contains("disabled"))
      #expect(try await commands.run("user", "enable", id).code == .exit(0))
      let again = try await Operator.logIn(port)
      let reset = try await commands.run("user", "reset-password", id, input: "another password\n")
      #expect(reset.code == .exit(0), "\(reset.errors)")
      #expect(try await Operator.ask(port, "GET", "/v1/me", token: again).status == 401)
      #expect(try await commands.run("user", "erase", id, "--yes").code == .exit(0))
      #expect(try await commands.run("user", "list").output.isEmpty)
    }
  }

  @Test("Without a server, the commands change the accounts themselves")
  func alone() async throws {
    try await commands.serve { _ in }
    let id = try await add()
    let taken = try await commands.run("user", "add", "ADA@example.com", input: "correct horse\n")
    #expect(taken.code == .exit(73))
    for change in ["disable", "enable"] { #expect(try await commands.run("user", change, id).code == .exit(0)) }
    #expect(try await commands.run("user", "disable", "bob@example.com").code == .exit(67))
    let health = try await commands.run("health", "--store", schema.connectionString, "--timeout", "5m")
    #expect(health.code == .exit(1) && health.errors.contains("no server uses the database"))
    #expect(try await commands.run("check").code == .exit(0))
    #expect(try await commands.run("user", "erase", id, "--yes").code == .exit(0))
    for table in ["users", "heads", "addresses", "nodes"] {
      #expect(try schema.count("SELECT count(*) FROM \(table)") == 0)
    }
  }

  @Test("If a server was killed, a command waits until its lease is over")
  func killed() async throws {
    let server = try LockstepProcess(
      ["serve", "--port", "0", "--threads", "1"],
      in: commands.folder,
      variables: commands.variables
    )
    _ = try await server.port()
    let id = try await add()
    server.send(SIGKILL)
    #expect(await server.ended() == .signal(SIGKILL))
    // Not by `Operator.run`, which repeats a command that gives up.
    let disabled = try LockstepProcess(
      ["user", "disable", id],
      in: commands.folder,
      name: "disable",
      variables: commands.variables
    )
    #expect(await disabled.ended() == .exit(0), "\(disabled.errors)")
    #expect(try schema.count("SELECT count(*) FROM users WHERE disabled_at IS NOT NULL") == 1)
  }

  @Test("`tail` goes on when PostgreSQL ends its connection")
  func lostConnection() async throws {
    try await commands.serve { port in
      _ = try await add()
      let token = try await Operator.logIn(port)
      let tail = try LockstepProcess(["tail"], in: commands.folder, name: "tail", variables: commands.variables)
      func put(_ id: String) async throws {
        // The server may notice the end of its connection with this request.
        await eventually {
          (try? await Operator.ask(port, "PUT", "/v1/favorites/\(id)", "{}", token: token).status) ?? 503 < 300
        }
        await eventually { tail.output.contains("inserted \(id)\n") }
      }
      try await put("a")
      try schema.endConnections()
      try await put("b")
      #expect(tail.output.split(separator: "\n").count == 2)
      #expect(tail.output.contains("ada@example.com  iPad  favorites"))
      tail.send(SIGINT)
      #expect(await tail.ended() == .signal(SIGINT))
    }
  }

  /// Statements that damage a store, and the words of the report.
  private static let damages: [(script: String, words: String)] = [
    ("DELETE FROM addresses", "the address of the user ID is not in the table addresses, or belongs to another"),
    ("UPDATE addresses SET user_id = gen_random_uuid()", "the table addresses has rows of the user"),
    ("UPDATE users SET email_key = 'b@example.com'", "the table addresses has an address that the user ID does not"),
    ("DELETE FROM tokens", "a session of the user ID has no row in the table tokens"),
    ("DELETE FROM sessions", "the table tokens has a token of the user ID without a session"),
    ("DELETE FROM heads", "the user ID has no row in the table heads"),
    ("UPDATE heads SET number = 7", "user ID: the row in the table heads is not the end of the journal"),
    ("UPDATE heads SET era = era # 1", "user ID: the row in the table heads is not the end of the journal"),
    ("INSERT INTO removals VALUES (gen_random_uuid(), 'favorites', 1)", "the table removals has rows of the user"),
    ("DELETE FROM token_key", "the table token_key is empty"), ("DELETE FROM store", "the table store has 0 rows"),
    ("UPDATE list_elements SET element = '{'", "list_elements: “a” in favorites of user ID is not valid JSON"),
    ("UPDATE list_elements SET element = '[]'", "list_elements: “a” in favorites of user ID cannot be read"),
    (
      "INSERT INTO map_values SELECT user_id, 'defaults/standard', 'theme', '{', number << 20 | era FROM heads",
      "map_values: “theme” in defaults/standard of user ID is not valid JSON"
    ),
    (
      "INSERT INTO snapshots SELECT user_id, 'favorites', number << 20 | era, '{' FROM heads",
      "snapshots: favorites of user ID at revision 4 is not valid JSON"
    ),
    ("UPDATE journal SET action = '{'", "journal: an entry of user ID at revision 1 is not valid JSON"),
    (
      "INSERT INTO registered_defaults VALUES ('standard', 'theme', 1048576, '{', 0)",
      "registered_defaults: “theme” in standard at revision 1 is not valid JSON"
    ),
    ("DELETE FROM list_elements WHERE id = 'a'", "user ID: favorites: the tables have 1 elements"),
    ("DELETE FROM journal WHERE number = 1", "user ID: favorites: the tables have 2 elements"),
    ("UPDATE list_elements SET rank = 9223372036854775807", "user ID: favorites: 2 elements have an impossible rank"),
    ("UPDATE journal SET place = 5", "entries of the table journal share the place 5"),
    ("ALTER TABLE users ADD COLUMN x integer", "the column x of the table users is not one that Lockstep creates"),
    ("DROP INDEX journal_by_place", "the index journal_by_place of the table journal is missing"),
    ("DROP TABLE snapshots", "the table snapshots is missing"),
    (
      "UPDATE users SET email = 'eve@example.com'",
      "user ID: email_key in the table users is not the address email in lower case"
    ),
    (
      "UPDATE users SET email_key = 'Ada@example.com'; UPDATE addresses SET email_key = 'Ada@example.com'",
      "user ID: email_key in the table users is not the address email in lower case"
    ),
    (
      """
      INSERT INTO users
      SELECT '00000000-0000-4000-8000-000000000001', 'b@example.com', 'b@example.com', '', 1, 0, 0, NULL FROM users
      """, "“00000000-0000-4000-8000-000000000001” is not a user id"
    ),
    (
      "UPDATE journal SET era = 0 WHERE number = 4; UPDATE heads SET era = 0",
      "user ID: 1 entry of the journal has an impossible era, first at revision 4"
    ),
    (
      "UPDATE journal SET era = era # 1 WHERE number = 1",
      "user ID: 1 row of the table list_elements and the journal have different eras, first at revision 1"
    ),
    (
      "UPDATE journal SET written = written + 1 WHERE number = 2",
      "user ID: 2 entries of the journal have a value in the column written that is not the size of the user's entries "
        + "so far, first at revision 2"
    ),
    (
      "UPDATE journal SET written = written + 1; UPDATE heads SET written = written + 1",
      "user ID: 1 entry of the journal has a value in the column written that is not the size of the user's entries "
        + "so far, first at revision 1"
    ),
    ("DELETE FROM removals", "user ID: favorites: the table removals lacks the removal at revision 3"),
    (
      "UPDATE removals SET revision = revision - (1 << 20)",
      "user ID: favorites: the table removals lacks the removal at revision 3"
    ),
    (
      "INSERT INTO list_elements SELECT user_id, 'notes', id, element, rank, revision FROM list_elements",
      "user ID: the table list_elements has rows of “notes”, which is not a list of this store"
    ),
    (
      "INSERT INTO map_values SELECT user_id, 'favorites', id, element, revision FROM list_elements",
      "user ID: the table map_values has rows of “favorites”, which is not a map of this store"
    ),
    (
      "INSERT INTO removals SELECT user_id, 'notes', revision FROM removals",
      "user ID: the table removals has rows of “notes”, which is not a module of this store"
    ),
    (
      "ALTER TABLE snapshots RENAME TO other; CREATE VIEW snapshots AS TABLE other",
      "snapshots is a view instead of a table"
    ),
    (
      "ALTER TABLE snapshots RENAME TO other; CREATE MATERIALIZED VIEW snapshots AS TABLE other",
      "snapshots is a materialized view instead of a table"
    ),
  ]

  @Test("The check finds each kind of damage", arguments: damages)
  func damage(script: String, words: String) async throws {
    try await commands.serve { port in
      _ = try await add()
      let token = try await Operator.logIn(port)
      for id in ["a", "c"] {
        #expect(try await Operator.ask(port, "PUT", "/v1/favorites/\(id)", "{}", token: token).status == 201)
      }
      #expect(try await Operator.ask(port, "DELETE", "/v1/favorites/c", token: token).status == 204)
      #expect(try await Operator.ask(port, "PUT", "/v1/favorites/b", "{}", token: token).status == 201)
    }
    let id = String(try await commands.run("user", "list").output.prefix(36))
    try schema.execute(script)
    let check = try await commands.run("check")
    #expect(check.code == .exit(65), "\(check.errors)")
    let expected = words.split(separator: "ID", omittingEmptySubsequences: false).joined(separator: id)
    #expect(check.output.contains("- \(expected)"), "\(check.output)")
    #expect(check.output.contains("The store is damaged."))
  }

  @Test("A foreign table instead of a table is found")
  func foreignTable() async throws {
    try await commands.serve { _ in _ = try await add() }
    let wrapper = "wrapper_\(schema.name)"
    try schema.execute(
      """
      DROP TABLE snapshots;
      CREATE FOREIGN DATA WRAPPER \(wrapper);
      CREATE SERVER \(wrapper) FOREIGN DATA WRAPPER \(wrapper);
      CREATE FOREIGN TABLE snapshots (
        user_id uuid NOT NULL, collection text COLLATE "C" NOT NULL, revision bigint NOT NULL, state text NOT NULL
      ) SERVER \(wrapper)
      """
    )
    defer { try? schema.execute("DROP FOREIGN DATA WRAPPER \(wrapper) CASCADE") }
    let check = try await commands.run("check")
    #expect(check.code == .exit(65), "\(check.errors)")
    #expect(check.output.contains("- snapshots is a foreign table instead of a table"), "\(check.output)")
    #expect(!check.output.contains("is missing"), "\(check.output)")
  }

  @Test("The log names the user and the element that a server cannot read, and not the content")
  func damagedElement() async throws {
    try await commands.serve { port in
      _ = try await add()
      let token = try await Operator.logIn(port)
      #expect(try await Operator.ask(port, "PUT", "/v1/favorites/a", "{}", token: token).status == 201)
      #expect(try await Operator.ask(port, "PUT", "/v1/favorites/b", "{}", token: token).status == 201)
    }
    let id = String(try await commands.run("user", "list").output.prefix(36))
    for (index, content) in ["{secret", #"["secret"]"#].enumerated() {
      try schema.execute("UPDATE list_elements SET element = '\(content)' WHERE id = 'b'")
      let server = try LockstepProcess(
        ["serve", "--port", "0", "--threads", "1"],
        in: commands.folder,
        name: "reader\(index)",
        variables: commands.variables
      )
      let port = try await server.port()
      let token = try await Operator.logIn(port)
      #expect(try await Operator.ask(port, "GET", "/v1/favorites", token: token).status == 500)
      server.send(SIGTERM)
      #expect(await server.ended() == .exit(0))
      let words = "the element “b” in favorites of user \(id) in the table list_elements cannot be read"
      #expect(server.errors.contains(words), "\(server.errors)")
      #expect(!server.errors.contains("secret"), "\(server.errors)")
    }
  }

  @Test("More indexes, tables and views are no damage")
  func additions() async throws {
    try await commands.serve { _ in _ = try await add() }
    try schema.execute(
      "CREATE INDEX mine ON users (created_at); CREATE TABLE notes (a integer); CREATE VIEW all_notes AS TABLE notes"
    )
    let check = try await commands.run("check")
    #expect(check.code == .exit(0), "\(check.output)")
  }

  @Test("A database that holds no store of this version is refused, and stays as it is")
  func otherDatabases() async throws {
    let commandLines = [["user", "list"], ["tail", "--once"], ["check"], ["user", "export", "ada@example.com"]]
    func expect(_ code: Int32, _ words: String) async throws {
      for arguments in commandLines {
        let process = try LockstepProcess(
          arguments,
          in: commands.folder,
          name: arguments.joined(),
          variables: commands.variables
        )
        #expect(await process.ended() == .exit(code), "\(process.errors)")
        #expect(process.errors.contains(words) && process.output.isEmpty, "\(process.errors)")
      }
    }
    try await expect(66, "is empty. Set --store or the variable LOCKSTEP_STORE to the database of a store.")
    try schema.execute("CREATE TABLE theirs (a integer)")
    try await expect(78, "it has the tables of another program")
    #expect(try schema.count("SELECT count(*) FROM pg_tables WHERE schemaname = current_schema()") == 1)
    try schema.execute("DROP TABLE theirs")
    try await commands.serve { _ in _ = try await add() }
    try schema.execute("INSERT INTO migrations VALUES (99, 'future', 'x', 1)")
    try await expect(78, "A newer lockstep has migrated it. Run that version.")
    try schema.execute(
      "DELETE FROM migrations WHERE number = 99 OR number = (SELECT max(number) FROM migrations WHERE number < 99)"
    )
    try await expect(75, "an older version has created or last migrated it")
  }

  @Test("`migrate` prepares an empty database, and refuses one of another program or of a newer version")
  func migrate() async throws {
    let first = try await commands.run("migrate")
    #expect(first.code == .exit(0) && first.output.contains("  0001_identity\n"), "\(first.errors)")
    #expect(try await commands.run("migrate").output.contains(": nothing to do; the schema is "))
    try await commands.serve { _ in
      _ = try await add()
      #expect(try await commands.run("migrate").code == .exit(0))
    }
    try schema.execute("INSERT INTO migrations VALUES (99, 'future', 'x', 1)")
    let newer = try await commands.run("migrate")
    #expect(newer.code == .exit(78) && newer.errors.contains("A newer lockstep has migrated it."))
    let other = try StoreSchema()
    try other.execute("CREATE TABLE theirs (a integer)")
    #expect(try await commands.run("migrate", "--store", other.connectionString).code == .exit(78))
    #expect(try other.count("SELECT count(*) FROM pg_tables WHERE schemaname = current_schema()") == 1)
  }

  @Test("Options and connection strings that cannot work are refused with their exit codes")
  func refusals() async throws {
    let store = schema.connectionString
    let server = try #require(StoreSchema.server)
    let cases: [(arguments: [String], code: Int32, words: String)] = [
      (["user", "list", "--data", "x", "--store", store], 64, "--data and --store cannot be combined."),
      (["tail", "--data", "x", "--store", store], 64, "--data and --store cannot be combined."),
      (["check", "--data", "x", "--store", store], 64, "--data and --store cannot be combined."),
      (["health", "--url", "http://h", "--store", store], 64, "--url and --store cannot be combined."),
      (["backup", "--to", "b.db"], 64, "such as pg_dump or pg_basebackup"),
      (["restore", "--from", "b.db"], 64, "such as pg_restore or a base backup"),
      (["backup", "--to", "b.db", "--store", store], 64, "such as pg_dump or pg_basebackup"),
      (["user", "list", "--store", "nonsense"], 64, "the PostgreSQL connection string is invalid"),
      (["user", "list", "--store", "\(server) dbname=none-such"], 78, "database \"none-such\" does not exist"),
      (["user", "list", "--store", "\(server) user=none-such"], 78, "role \"none-such\" does not exist"),
      (["user", "list", "--store", "service=none-such"], 78, "none-such"),
      (["health", "--store", "host=/nowhere", "--timeout", "100ms"], 1, "cannot connect to PostgreSQL"),
    ]
    for (index, entry) in cases.enumerated() {
      let process = try LockstepProcess(
        entry.arguments,
        in: commands.folder,
        name: "case\(index)",
        variables: commands.variables
      )
      #expect(await process.ended() == .exit(entry.code), "\(entry.arguments): \(process.errors)")
      #expect(process.errors.contains(entry.words) && process.output.isEmpty, "\(entry.arguments): \(process.errors)")
    }
    #expect(try schema.count("SELECT count(*) FROM pg_tables WHERE schemaname = current_schema()") == 0)
  }

  @Test("--data on the command line overrides LOCKSTEP_STORE, and the other way round")
  func precedence() async throws {
    var both = commands.variables
    both["LOCKSTEP_DATA"] = "/nowhere/x"
    let file = try await commands.run("user", "list", "--data", "/nowhere/y", with: both)
    #expect(file.code == .exit(66) && file.errors.contains("There is no file /nowhere/y"))
    let database = try await commands.run("user", "list", "--store", schema.connectionString, with: both)
    #expect(database.code == .exit(66) && database.errors.contains("is empty"))
    let variables = try await commands.run("user", "list", with: both)
    #expect(variables.code == .exit(66) && variables.errors.contains("is empty"))
  }

  @Test("A command declares and deletes collections beside a running node, which has them at once")
  func collections() async throws {
    try await commands.serve { port in
      _ = try await add()
      let token = try await Operator.logIn(port)
      let text = #"[{"name":"notes","kind":"list"},{"name":"levels","kind":"map"}]"#
      try commands.folder.write(Array(text.utf8), to: "both.json")
      let applied = try await commands.run("collections", "apply", commands.folder.file("both.json"))
      #expect(applied.code == .exit(0) && applied.output == "notes: created\nlevels: created\n", "\(applied.errors)")
      let written = try await Operator.ask(port, "PUT", "/v1/notes/a", #"{"data":1}"#, token: token)
      #expect(written.status == 201)
      #expect(try await commands.run("collections", "list").output.contains("notes   list"))
      #expect(try await commands.run("collections", "delete", "notes").code == .exit(73))
      #expect(try await Operator.ask(port, "PUT", "/v1/notes/b", "{}", token: token).status == 201)
      #expect(try await commands.run("collections", "delete", "notes", "--erase").code == .exit(0))
      try await eventually { try await Operator.ask(port, "GET", "/v1/notes", token: token).status == 404 }
      let journal = try JSON(parsing: try await Operator.ask(port, "GET", "/v1/journal", token: token).body)
      #expect(journal["entries"]?.arrayValue?.last?["by"] == "administrator")
      let check = try await commands.run("check")
      #expect(check.code == .exit(0) && check.output.hasSuffix("No damage.\n"), "\(check.output)\(check.errors)")
    }
    #expect(try await commands.run("collections", "list").output.contains("levels  map"))
  }
}
