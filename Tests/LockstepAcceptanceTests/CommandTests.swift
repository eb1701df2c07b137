import Glibc
import LockstepSQLite
import LockstepTestSupport
import Testing

@Suite("The command's exit codes and output are what scripts expect", .timeLimit(.minutes(10)))
struct CommandTests {
  /// The arguments, the variables, the exit code, and how standard output or standard error begins.
  private static let runs: [(arguments: [String], variables: [String: String], code: Int32, text: String)] = [
    ([], [:], 64, "Lockstep is a state server"), (["--help"], [:], 0, "Lockstep is a state server"),
    (["-h"], [:], 0, "Lockstep is"), (["help"], [:], 0, "Lockstep is"), (["--version"], [:], 0, "lockstep 0.2.0"),
    (["version"], [:], 0, "lockstep "), (["--version", "junk"], [:], 64, "lockstep: unexpected argument “junk”"),
    (["version", "--port"], [:], 64, "lockstep: unexpected argument “--port”"),
    (["serve", "--port", "0", "--data", "/dev/null"], [:], 74, "lockstep serve: /dev/null is not a regular file"),
    (["serve", "--port", "0", "--data", "{folder}/"], [:], 74, "lockstep serve: "),
    (["serve", "--help"], [:], 0, "Run the server until SIGTERM"),
    (["serve", "--port", "x", "-h"], [:], 0, "Run the server until SIGTERM"),
    (["srve"], [:], 64, "lockstep: there is no command “srve”."), (["--serve"], [:], 64, "lockstep: there is no"),
    (["serve", "--prot", "1"], [:], 64, "lockstep serve: there is no option --prot. `lockstep serve --help`"),
    (["serve", "--port", "x"], [:], 64, "lockstep serve: --port cannot be “x”: it must be a whole number"),
    (["serve"], ["LOCKSTEP_PORT": "x"], 64, "lockstep serve: LOCKSTEP_PORT cannot be “x”"),
    (
      ["serve", "--host", "256.1.1.1", "--port", "0", "--data", "{folder}/x.db"], [:], 69,
      "lockstep serve: cannot listen"
    ),
    (
      ["serve", "--port", "0", "--data", "/nonexistent/x.db"], [:], 74,
      "lockstep serve: SQLite could not open /nonexistent/x.db"
    ),
    (["backup"], [:], 64, "lockstep backup: --to is missing"),
    (["backup", "--help"], [:], 0, "Copy a store as it is at one moment"),
    (["backup", "--to", "{folder}/b", "--data", "{folder}/x"], [:], 66, "lockstep backup: There is no file"),
    (["backup", "--to", "{folder}/b"], ["LOCKSTEP_DATA": "/nowhere/x"], 66, "There is no file /nowhere/x"),
    (
      ["backup", "--to", "/dev/null"], ["LOCKSTEP_FORCE": "1", "LOCKSTEP_DATA": "/etc/passwd"], 73,
      "/dev/null exists already"
    ),
    (["restore"], [:], 64, "lockstep restore: --from is missing"),
    (["restore", "--from", "/etc/passwd", "--data", "{folder}/x"], [:], 65, "is not a SQLite database"),
    (["restore", "--from", "{folder}/none", "--data", "{folder}/x"], [:], 66, "lockstep restore: There is no file"),
    (
      ["health", "--url", "https://a.example"], [:], 64, "lockstep health: --url cannot be “https://a.example”: it must"
    ),
    (["health", "--timeout", "0"], [:], 64, "lockstep health: --timeout cannot be “0”"),
  ]

  @Test("Each kind of call has its exit code and its text", arguments: runs)
  func codes(arguments: [String], variables: [String: String], code: Int32, text: String) async throws {
    let folder = try TemporaryDirectory()
    let words = arguments.map { $0.hasPrefix("{folder}/") ? folder.file(String($0.dropFirst(9))) : $0 }
    let process = try LockstepProcess(words, in: folder, variables: variables)
    #expect(await process.ended() == .exit(code))
    let (shown, other) = code == 0 ? (process.output, process.errors) : (process.errors, process.output)
    #expect(shown.contains(text) && shown.hasSuffix("\n"))
    #expect(other.isEmpty)
  }

  @Test("Failing to print a text is an error", arguments: [">&-", ">/dev/full"])
  func unprintable(redirection: String) async throws {
    let process = try LockstepProcess(["--help"], in: TemporaryDirectory(), redirection: redirection)
    #expect(await process.ended() == .exit(74))
  }

  @Test("If the command starts without standard streams, no socket or file takes their numbers")
  func closedStreams() async throws {
    let folder = try TemporaryDirectory()
    let (process, port) = try await LockstepProcess.serving(in: folder, redirection: "<&- 2>&-")
    let client = try RawClient(port: port)
    try await client.send("GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(try await client.response().status == 200)
    for descriptor in [0, 2] {
      var path = [CChar](repeating: 0, count: 256)
      let count = readlink("/proc/\(process.id)/fd/\(descriptor)", &path, path.count)
      #expect(String(decoding: path[..<max(0, count)].map { UInt8(bitPattern: $0) }, as: UTF8.self) == "/dev/null")
    }
    process.send(SIGTERM)
    #expect(await process.ended() == .exit(0))
  }

  @Test("If the limit on open files is too low for --max-connections, the server warns at startup and says what to do")
  func fewDescriptors() async throws {
    let folder = try TemporaryDirectory()
    let (process, _) = try await LockstepProcess.serving(in: folder, limit: 200)
    process.send(SIGTERM)
    #expect(await process.ended() == .exit(0))
    let warnings = process.errors.split(separator: "\n").filter { $0.contains(" WARNING ") }
    #expect(warnings.count == 1)
    #expect(warnings.first?.contains("raise it to 10084") == true, "\(warnings)")
    #expect(warnings.first?.contains("lower --max-connections to 116") == true)
    let (enough, _) = try await LockstepProcess.serving(
      ["--max-connections", "116"],
      in: folder,
      name: "two",
      limit: 200
    )
    enough.send(SIGTERM)
    #expect(await enough.ended() == .exit(0))
    #expect(!enough.errors.contains("WARNING"))
  }

  @Test("A port that is in use is named in the error, and no store is made", arguments: [1, 2])
  func portTaken(threads: Int) async throws {
    let folder = try TemporaryDirectory()
    let (first, port) = try await LockstepProcess.serving(in: folder)
    let second = try LockstepProcess(
      ["serve", "--port", "\(port)", "--threads", "\(threads)", "--data", folder.file("second.db")],
      in: folder,
      name: "second"
    )
    #expect(await second.ended() == .exit(69))
    #expect(
      second.errors == "lockstep serve: cannot listen on 127.0.0.1:\(port): Address already in use (bind, errno 98)\n"
    )
    #expect(second.output.isEmpty)
    #expect(access(folder.file("second.db"), F_OK) != 0)
    first.send(SIGTERM)
    #expect(await first.ended() == .exit(0))
  }

  @Test("`health` shows the response of another server with control characters escaped")
  func foreignHealth() async throws {
    let server = try RawServer()
    let folder = try TemporaryDirectory()
    let arguments = ["health", "--url", "http://127.0.0.1:\(server.port)", "--timeout", "5m"]
    let process = try LockstepProcess(arguments, in: folder)
    await aside { server.respondOnce("HTTP/1.1 503 Full\r\nConnection: close\r\n\r\n\u{1B}]0;owned\u{7}\u{9B}2J") }
    #expect(await process.ended() == .exit(1))
    #expect(
      process.errors
        == #"lockstep health: the server is not ready: its response is 503. \u{1b}]0;owned\u{7}\u{9b}2J"# + "\n"
    )
  }

  @Test("A new store is readable by its owner only, and opens again after a restart")
  func store() async throws {
    let folder = try TemporaryDirectory()
    for name in ["first", "second"] {
      let (process, port) = try await LockstepProcess.serving(in: folder, name: name)
      let client = try RawClient(port: port)
      // A server that cannot write to its store within 1.5 seconds is not ready. A disk may be
      // slower for a moment.
      try await eventually {
        try await client.send("GET /readyz HTTP/1.1\r\nHost: h\r\n\r\n")
        return try await client.response().status == 200
      }
      var status = stat()
      #expect(stat(folder.file("lockstep.db"), &status) == 0)
      #expect(status.st_mode & 0o777 == 0o600)
      process.send(SIGINT)
      #expect(await process.ended() == .exit(0))
      #expect(process.output == "lockstep: listening on http://127.0.0.1:\(port)\n")
      #expect(access(folder.file("lockstep.db-wal"), F_OK) != 0)
    }
  }

  @Test("The check of a file whose schema cannot be read says what to do, and does not recommend a check")
  func unreadableSchema() async throws {
    let folder = try TemporaryDirectory()
    let (server, _) = try await LockstepProcess.serving(in: folder, name: "maker")
    server.send(SIGTERM)
    #expect(await server.ended() == .exit(0))
    let bytes = try folder.contents(of: "lockstep.db")
    try folder.write(Array(bytes.prefix(6_000)), to: "lockstep.db")
    let check = try LockstepProcess(["check", "--data", folder.file("lockstep.db")], in: folder)
    #expect(await check.ended() == .exit(65))
    let text = check.errors
    #expect(text.contains("Its schema cannot be read") && !text.contains("`lockstep check`"), "\(text)")
  }

  @Test(
    "A file that is not a store is refused with a clear error and stays as it was",
    arguments: ["garbage", "other", "newer"]
  )
  func strangeStore(kind: String) async throws {
    let folder = try TemporaryDirectory()
    let words: String
    switch kind {
    case "garbage":
      try folder.write(
        Array("This is a text and no database. ".utf8) + [UInt8](repeating: 0x41, count: 4096),
        to: "lockstep.db"
      )
      words = "The file is not a SQLite database"
    case "other":
      try SQLiteConnection(path: folder.file("lockstep.db"), journal: .asFound).run(
        "CREATE TABLE t (a)"
      )
      words = "is a SQLite database, but not a Lockstep store. Nothing was changed."
    default:
      let (process, _) = try await LockstepProcess.serving(in: folder, name: "maker")
      process.send(SIGTERM)
      #expect(await process.ended() == .exit(0))
      let connection = try SQLiteConnection(path: folder.file("lockstep.db"), journal: .asFound)
      try connection.run("PRAGMA user_version = 1000000")
      words = "A newer lockstep has used the store. Run that version, or restore a backup"
    }
    let before = try folder.contents(of: "lockstep.db")
    let process = try LockstepProcess(["serve", "--port", "0", "--data", folder.file("lockstep.db")], in: folder)
    #expect(await process.ended() == .exit(words.hasPrefix("A newer") ? 65 : 74))
    #expect(process.errors.hasPrefix("lockstep serve: ") && process.errors.contains(words), "\(process.errors)")
    #expect(process.output.isEmpty)
    #expect(try folder.contents(of: "lockstep.db") == before)
  }
}
