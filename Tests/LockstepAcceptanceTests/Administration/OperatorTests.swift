import Foundation
import Glibc
import LockstepJSON
import LockstepSQLite
import LockstepTestSupport
import Testing

@Suite("Admin commands and diagnostics on a store while a server uses it", .timeLimit(.minutes(10)))
struct OperatorTests {
  private let folder: TemporaryDirectory

  init() throws {
    folder = try TemporaryDirectory()
  }

  private var store: String { folder.file("lockstep.db") }

  /// Runs a command of the binary with a text as its standard input, and waits until it ends.
  /// Repeats a change that the command has withdrawn, because a server on a busy machine may need
  /// more than its 15 seconds.
  private func run(_ arguments: String..., input: String = "", name: String) async throws -> (
    code: LockstepProcess.Ending?, output: String, errors: String
  ) {
    try folder.write(Array(input.utf8), to: "\(name).in")
    var attempts = 0
    while true {
      let process = try LockstepProcess(
        arguments,
        in: folder,
        name: name,
        redirection: "<'\(folder.file("\(name).in"))'",
        variables: ["LOCKSTEP_DATA": store]
      )
      let code = await process.ended()
      attempts += 1
      if code != .exit(75) || attempts > 5 { return (code, process.output, process.errors) }
    }
  }

  private func ask(_ port: Int, _ method: String, _ target: String, _ body: String? = nil, token: String? = nil)
    async throws
    -> RawResponse
  {
    let client = try RawClient(port: port)
    var head = "\(method) \(target) HTTP/1.1\r\nHost: h\r\n"
    if let token { head += "Authorization: Bearer \(token)\r\n" }
    if let body { head += "Content-Length: \(body.utf8.count)\r\n" }
    try await client.send("\(head)\r\n\(body ?? "")")
    return try await client.response()
  }

  private func logIn(_ port: Int, _ password: String) async throws -> (status: Int, token: String) {
    let response = try await ask(
      port,
      "POST",
      "/v1/sessions",
      #"{"email":"ada@example.com","password":"\#(password)"}"#
    )
    return (response.status, (try? JSON(parsing: response.body))?["token"]?.stringValue ?? "")
  }

  @Test(
    "Users can be added, disabled, enabled, given a password and erased while a server runs, and no secret is printed"
  )
  func users() async throws {
    let (server, port) = try await LockstepProcess.serving(["--registration", "closed"], in: folder)
    let added = try await run("user", "add", "ada@example.com", input: "correct horse\n", name: "add")
    #expect(added.code == .exit(0), "\(added.errors)")
    let id = String(added.output.dropLast())
    let (_, token) = try await logIn(port, "correct horse")
    #expect(try await ask(port, "GET", "/v1/me", token: token).status == 200)

    let disabled = try await run("user", "disable", "ada@example.com", name: "disable")
    #expect(disabled.code == .exit(0) && disabled.output.contains(id))
    #expect(try await ask(port, "GET", "/v1/me", token: token).status == 401)
    #expect(try await logIn(port, "correct horse").status == 403)
    #expect(try await run("user", "list", name: "list").output.contains("disabled"))

    #expect(try await run("user", "enable", id, name: "enable").code == .exit(0))
    let (_, second) = try await logIn(port, "correct horse")
    let reset = try await run("user", "reset-password", id, input: "another password", name: "reset")
    #expect(reset.code == .exit(0), "\(reset.errors)")
    #expect(try await ask(port, "GET", "/v1/me", token: second).status == 401)
    #expect(try await logIn(port, "correct horse").status == 401)
    let (_, third) = try await logIn(port, "another password")

    let export = try await run("user", "export", "ADA@example.com", name: "export")
    let document = try JSON(parsing: Array(export.output.utf8))
    #expect(document["user"]?["id"]?.stringValue == id && document["journal"] == [])
    let told = try JSON(parsing: try await ask(port, "GET", "/v1/me/export", token: third).body)
    #expect(document["user"] == told["user"] && document["cursor"] == told["cursor"])

    #expect(try await run("user", "erase", id, name: "unsure").code == .exit(64))
    #expect(try await run("user", "erase", id, "--yes", name: "erase").code == .exit(0))
    #expect(try await ask(port, "GET", "/v1/me", token: third).status == 401)
    #expect(try await run("user", "list", name: "empty").output.isEmpty)
    server.send(SIGTERM)
    #expect(await server.ended() == .exit(0))
    for name in ["add", "disable", "enable", "reset", "export", "erase", "run"] {
      let text = try ["out", "err"].map { String(decoding: try folder.contents(of: "\(name).\($0)"), as: UTF8.self) }
        .joined()
      for secret in ["correct horse", "another password", "argon2"] { #expect(!text.contains(secret), "\(name)") }
    }
  }

  @Test("A password's line may end in CR LF, and another CR belongs to the password")
  func lineEnd() async throws {
    let (server, port) = try await LockstepProcess.serving(in: folder)
    let added = try await run("user", "add", "ada@example.com", input: "correct horse\r\nmore\n", name: "add")
    #expect(added.code == .exit(0), "\(added.errors)")
    #expect(try await logIn(port, "correct horse").status == 201)
    let reset = try await run("user", "reset-password", "ada@example.com", input: "its own \r\r\n", name: "reset")
    #expect(reset.code == .exit(0), "\(reset.errors)")
    #expect(try await logIn(port, #"its own \r"#).status == 201)
    server.send(SIGTERM)
    #expect(await server.ended() == .exit(0))
  }

  @Test(
    "A signal withdraws an admin command that the server has not run",
    arguments: [(SIGINT, 130), (SIGTERM, 143)] as [(Int32, Int32)]
  )
  func interrupted(signal: Int32, code: Int32) async throws {
    let (server, port) = try await LockstepProcess.serving(in: folder)
    _ = try await run("user", "add", "ada@example.com", input: "correct horse\n", name: "add")
    server.send(SIGSTOP)
    // One thread gets the signal and stops the others. Until then, they respond.
    try await eventually {
      let tasks = "/proc/\(server.id)/task"
      return try FileManager.default.contentsOfDirectory(atPath: tasks).allSatisfy { task in
        try String(contentsOfFile: "\(tasks)/\(task)/stat", encoding: .utf8).contains(") T ")
      }
    }
    let command = try LockstepProcess(
      ["user", "erase", "ada@example.com", "--yes", "--data", store],
      in: folder,
      name: "erase"
    )
    let path = "\(store)-socket"
    // On a thread of its own: the command gives up after 15 seconds, and the tests' threads may be busy for longer.
    await aside {
      for _ in 0..<6_000 {
        // The socket that listens, and the connection that the server has not accepted.
        if Self.unixSockets().count(where: { $0.hasSuffix(" \(path)") }) > 1 { break }
        usleep(10_000)
      }
      command.send(signal)
    }
    #expect(await command.ended() == .exit(code))
    #expect(
      command.errors == "lockstep user erase: Interrupted. The admin command was withdrawn, and nothing was changed.\n"
    )
    server.send(SIGCONT)
    #expect(try await logIn(port, "correct horse").status == 201)
    server.send(SIGTERM)
    #expect(await server.ended() == .exit(0))
  }

  /// The lines of /proc/net/unix. Foundation reads only the first 4 KiB of this file, because its size is 0.
  private static func unixSockets() -> [Substring] {
    guard let file = fopen("/proc/net/unix", "r") else { return [] }
    defer { fclose(file) }
    var (bytes, buffer) = ([UInt8](), [UInt8](repeating: 0, count: 65_536))
    while case let count = fread(&buffer, 1, buffer.count, file), count > 0 { bytes += buffer[..<count] }
    return String(decoding: bytes, as: UTF8.self).split(separator: "\n")
  }

  @Test("Each failure has its exit code and its text")
  func refusals() async throws {
    let (server, _) = try await LockstepProcess.serving(in: folder)
    _ = try await run("user", "add", "ada@example.com", input: "correct horse\n", name: "first")
    let cases: [(arguments: [String], input: String, code: Int32, words: String)] = [
      (["user", "add", "ada@EXAMPLE.com"], "correct horse\n", 73, "with the address ada@EXAMPLE.com exists already"),
      (["user", "add", "nonsense"], "x", 64, "<address> cannot be “nonsense”: The address has no @"),
      (["user", "add", "bob@example.com"], "short\n", 64, "The password is shorter than 8 characters."),
      (["user", "add", "bob@example.com"], "", 64, "the first line of standard input must be the new password"),
      (["user", "add"], "", 64, "<address> is missing: lockstep user add <address> [options]"),
      (["user", "disable", "bob@example.com"], "", 67, "There is no user bob@example.com in the store."),
      (["user"], "", 64, "lockstep user <command>"), (["user", "none"], "", 64, "there is no command “user none”"),
      (["tail", "--user", "bob@example.com"], "", 67, "There is no user bob@example.com"),
      (["tail", "--since", "0.1.0"], "", 64, "is not in"),
      (
        ["tail", "--user", "ada@example.com", "--since", "x"], "", 64,
        "--since cannot be “x”: it must be a cursor, a time"
      ),
      (["tail", "--user", "ada@example.com", "--since", "0.1.0"], "", 64, "is not in this user's history"),
    ]
    for (index, entry) in cases.enumerated() {
      try folder.write(Array(entry.input.utf8), to: "case.in")
      let process = try LockstepProcess(
        entry.arguments,
        in: folder,
        name: "case\(index)",
        redirection: "<'\(folder.file("case.in"))'",
        variables: ["LOCKSTEP_DATA": store]
      )
      #expect(await process.ended() == .exit(entry.code), "\(entry.arguments)")
      #expect(process.errors.contains(entry.words), "\(process.errors)")
      #expect(process.output.isEmpty)
    }
    server.send(SIGTERM)
    #expect(await server.ended() == .exit(0))
  }

  @Test("`tail` prints each change of a user as it happens, without colors if its output is not a terminal")
  func tail() async throws {
    let (server, port) = try await LockstepProcess.serving(in: folder)
    _ = try await run("user", "add", "ada@example.com", input: "correct horse\n", name: "add")
    let (_, token) = try await logIn(port, "correct horse")
    let tail = try LockstepProcess(["tail", "--user", "ada@example.com", "--data", store], in: folder, name: "tail")
    for number in 1...3 {
      #expect(try await ask(port, "PUT", "/v1/favorites/\(number)", "{}", token: token).status == 201)
      await eventually { tail.output.split(separator: "\n").count == number }
    }
    let last = try #require(tail.output.split(separator: "\n").last)
    #expect(last.hasSuffix(#"favorites  add {"id":"3"}  =>  inserted 3"#), "\(last)")
    #expect(!tail.output.contains("\u{1B}"))
    tail.send(SIGINT)
    #expect(await tail.ended() == .signal(SIGINT))
    let json = try await run("tail", "--user", "ada@example.com", "--once", "--json", "-n", "1", name: "json")
    #expect(try JSON(parsing: Array(json.output.utf8))["action"]?["payload"]?["id"] == "3")
    server.send(SIGTERM)
    #expect(await server.ended() == .exit(0))
  }

  @Test("`check` works while a server runs; damage is located, and the exit code is 65")
  func check() async throws {
    let (server, port) = try await LockstepProcess.serving(in: folder)
    _ = try await run("user", "add", "ada@example.com", input: "correct horse\n", name: "add")
    let (_, token) = try await logIn(port, "correct horse")
    _ = try await ask(port, "PUT", "/v1/favorites/a", #"{"title":"A"}"#, token: token)
    let whole = try await run("check", name: "whole")
    #expect(whole.code == .exit(0) && whole.output.hasSuffix("\nNo damage.\n"), "\(whole.output)")
    #expect(whole.output.contains("users         1: all as the journal rebuilds them"))
    let over = try await run("check", "--max-favorites", "0", name: "over")
    #expect(over.code == .exit(0) && over.output.contains("1 elements of favorites, the quota is 0"))
    server.send(SIGTERM)
    #expect(await server.ended() == .exit(0))
    try SQLiteConnection(path: store).run("UPDATE list_elements SET element = json_set(element, '$.title', 'B')")
    let damaged = try await run("check", name: "damaged")
    #expect(damaged.code == .exit(65) && damaged.output.contains("users         DAMAGED: 1 found"), "\(damaged.output)")
    #expect(
      damaged.output.contains("the first difference is at “a”")
        && damaged.output.contains("lockstep restore --from <backup>")
    )
  }

  @Test("A server that keeps backups makes one at startup, and it can be restored")
  func backups() async throws {
    let backups = folder.file("backups")
    let (server, port) = try await LockstepProcess.serving(["--backup-dir", backups], in: folder)
    await eventually { server.errors.contains("backup made") }
    let made = try #require(server.errors.split(separator: "file=").last?.prefix { $0 != " " })
    #expect(made.hasPrefix("\(backups)/lockstep-") && made.hasSuffix("Z.db"))
    let metrics = try await ask(port, "GET", "/metrics")
    #expect(metrics.text.contains("\nlockstep_backups_total 1\n"))
    server.send(SIGTERM)
    #expect(await server.ended() == .exit(0))
    let restored = try await run("restore", "--from", String(made), "--data", folder.file("new.db"), name: "restore")
    #expect(restored.code == .exit(0), "\(restored.errors)")
    #expect(try await run("check", "--data", folder.file("new.db"), name: "check").code == .exit(0))
  }

  @Test("`openapi` prints what the server serves with the same options, and leaves no files behind")
  func openAPI() async throws {
    let (server, port) = try await LockstepProcess.serving(["--password-min", "12"], in: folder)
    let given = try await ask(port, "GET", "/openapi.json")
    #expect(given.status == 200)
    let scratch = folder.file("scratch")
    try #require(mkdir(scratch, 0o700) == 0)
    let process = try LockstepProcess(
      ["openapi"],
      in: folder,
      name: "openapi",
      variables: ["LOCKSTEP_PASSWORD_MIN": "12", "TMPDIR": scratch]
    )
    #expect(await process.ended() == .exit(0))
    #expect(process.output == given.text + "\n")
    #expect(process.errors == "")
    #expect(rmdir(scratch) == 0, "the folder is empty")
    #expect(try await run("openapi", name: "default").output != process.output)
    server.send(SIGTERM)
    #expect(await server.ended() == .exit(0))
  }

  @Test(
    "bash completes commands, second words, options and choices",
    arguments: [
      ("lockstep ", 1, "serve"), ("lockstep user re", 2, "reset-password"), ("lockstep backup --fo", 2, "--force"),
      ("lockstep serve --log-format j", 3, "json"), ("lockstep user erase --y", 3, "--yes"),
      ("lockstep completions f", 2, "fish"),
    ]
  )
  func completions(line: String, index: Int, word: String) async throws {
    let printed = try await run("completions", "bash", name: "bash")
    #expect(printed.code == .exit(0))
    try folder.write(Array(printed.output.utf8), to: "completions.bash")
    let script = """
      set -eu
      source "$1"
      IFS=' ' read -ra COMP_WORDS <<<"$2"
      COMP_CWORD=$3
      [[ ${COMP_WORDS[COMP_CWORD]+x} ]] || COMP_WORDS+=("")
      _lockstep
      printf '%s\\n' "${COMPREPLY[@]}"
      """
    let words = ["bash", "-c", script, "-", folder.file("completions.bash"), line, "\(index)"]
    let completed = try await ChildProcess.run(words)
    #expect(String(decoding: completed, as: UTF8.self).split(separator: "\n").contains(Substring(word)))
  }
}
