import LockstepJSON
import LockstepTestSupport
import Testing

@Suite("The commands on declared collections", .timeLimit(.minutes(10)))
struct CollectionsTests {
  private let folder: TemporaryDirectory
  private let commands: Operator

  init() throws {
    folder = try TemporaryDirectory()
    commands = try Operator(["LOCKSTEP_DATA": folder.file("lockstep.db")])
  }

  private func file(_ name: String, _ text: String) throws -> String {
    try folder.write(Array(text.utf8), to: name)
    return folder.file(name)
  }

  private func check(_ arguments: [String], _ code: Int32, _ output: String = "", errors: String = "") async throws {
    let result = try await commands.run(["collections"] + arguments)
    #expect(result.code == .exit(code), "\(arguments): \(result.output)\(result.errors)")
    #expect(result.output == output, "\(arguments)")
    let isAsExpected = errors.isEmpty ? result.errors.isEmpty : result.errors.contains(errors)
    #expect(isAsExpected, "\(arguments): \(result.errors)")
  }

  @Test("A running server has an applied collection at once, and a refused change leaves everything as it was")
  func served() async throws {
    try await commands.serve { port in
      let added = try await commands.run("user", "add", "ada@example.com", input: "correct horse\n")
      #expect(added.code == .exit(0), "\(added.errors)")
      let token = try await Operator.logIn(port)
      let ask = { (method: String, path: String, body: String?) in
        try await Operator.ask(port, method, path, body, token: token).status
      }
      let both = try file(
        "both.json",
        #"[{"name":"notes","kind":"list","schema":{"type":"object"}},{"name":"levels","kind":"map"}]"#
      )
      try await check(["apply", both], 0, "notes: created\nlevels: created\n")
      #expect(try await ask("PUT", "/v1/notes/a", #"{"data":{}}"#) == 201)
      #expect(try await ask("PUT", "/v1/notes/b", #"{"data":1}"#) == 422)

      let other = try file("other.json", #"[{"name":"new","kind":"map"},{"name":"notes","kind":"map"}]"#)
      try await check(["apply", other], 73, errors: "Users have data in notes")
      #expect(try await ask("GET", "/v1/new", nil) == 404)
      #expect(try await ask("PUT", "/v1/notes/c", #"{"data":{}}"#) == 201)

      try await check(["delete", "notes"], 73, errors: "Users have data in notes")
      try await check(["delete", "notes", "--erase"], 0, "notes: deleted\n")
      #expect(try await ask("GET", "/v1/notes", nil) == 404)
      try await check(["delete", "notes"], 66, errors: "There is no declared collection notes.")
    }
    try await check(["list"], 0, "levels  map   readWrite  10000 elements, 16.0 MiB\n")
    let report = try await commands.run(["check"])
    #expect(report.code == .exit(0) && report.output.hasSuffix("No damage.\n"), "\(report.output)\(report.errors)")
  }

  @Test("Applying a file where there is no store makes one and says so; a dry run makes none")
  func newStore() async throws {
    let notes = try file("notes.json", #"[{"name":"notes","kind":"list"}]"#)
    try await check(["apply", notes, "--dry-run"], 0, "notes: would be created\n")
    try await check(["list"], 66, errors: "There is no file")
    try await check(["apply", notes], 0, "notes: created\n", errors: "there was no store, so a new one was made.")
    try await check(["apply", notes], 0, "notes: unchanged\n")
    try await check(["list"], 0, "notes  list  readWrite  10000 elements, 16.0 MiB\n")
  }

  @Test("A bad file is refused with all its faults, and a missing file or store with another code")
  func refusals() async throws {
    for arguments in [["list"], ["delete", "notes"]] { try await check(arguments, 66, errors: "There is no file") }
    #expect(try await commands.run(["migrate"]).code == .exit(0))
    try await check(["apply", folder.file("none.json")], 66, errors: "cannot be read: No such file")
    for (text, errors) in [
      ("", "is not JSON: Line 1"), ("{}", "must contain an array"),
      ("[7]", "/0"), (#"[{"name":"notes","kind":"list"},{"name":"notes","kind":"map"}]"#, "/1/name: /0 declares notes"),
      (#"[{"name":"favorites","kind":"list"}]"#, "/0/name: The server itself uses the name favorites"),
      (
        #"[{"name":"a","kind":"list","schema":{"properties":{"b":{"pattern":"x"}}}}]"#, "/0/schema/properties/b/pattern"
      ),
    ] {
      try await check(["apply", try file("bad.json", text)], 65, errors: errors)
      try await check(["apply", try file("bad.json", text), "--dry-run"], 65, errors: errors)
    }
    try await check(["list"], 0)
  }

  @Test("A dry run shows the difference and changes nothing, and the listing as JSON can be applied again")
  func dryRun() async throws {
    #expect(try await commands.run(["migrate"]).code == .exit(0))
    let first = try file("first.json", #"[{"name":"notes","kind":"list","quota":{"elements":5}}]"#)
    try await check(["apply", first, "--dry-run"], 0, "notes: would be created\n")
    try await check(["list"], 0)
    try await check(["apply", first], 0, "notes: created\n")
    let second = try file("second.json", #"[{"name":"notes","kind":"map","schema":{"type":"string"}}]"#)
    let difference = """
      notes: would be changed
        /kind: "list" → "map"
        /schema/type: (none) → "string"
        /quota/elements: 5 → 10000

      """
    try await check(["apply", second, "--dry-run"], 0, difference)
    let listing = try await commands.run(["collections", "list", "--json"]).output
    try await check(["apply", second], 0, "notes: changed\n")
    try await check(["apply", try file("third.json", listing)], 0, "notes: changed\n")
    let piped = try await commands.run(["collections", "apply", "-"], input: listing)
    #expect(piped.code == .exit(0) && piped.output == "notes: unchanged\n", "\(piped.errors)")
  }
}
