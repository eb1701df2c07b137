import LockstepJSON
import Testing

@testable import LockstepCollections
@testable import LockstepCommand
@testable import LockstepMaintenance
@testable import LockstepTime

@Suite("The output of the operator's commands", .timeLimit(.minutes(10)))
struct OperatorTextTests {
  @Test(
    "A progress bar fills in proportion to the work done",
    arguments: [
      (0, 100, "x [                              ]   0 %  100 bytes"),
      (50, 100, "x [###############               ]  50 %  100 bytes"),
      (3 << 20, 3 << 20, "x [##############################] 100 %  3.0 MiB"),
      (0, 0, "x [##############################] 100 %  0 bytes"),
    ]
  )
  func bar(done: Int, all: Int, line: String) {
    #expect(ProgressBar.line("x", done, of: all, as: Terminal.size(all)) == line)
  }

  @Test(
    "A size is printed in the largest unit that it reaches",
    arguments: [
      (0, "0 bytes"), (1023, "1023 bytes"), (1024, "1.0 KiB"), (1536, "1.5 KiB"), (1 << 30, "1.0 GiB"),
      (5 << 50, "5120.0 TiB"),
    ]
  )
  func sizes(bytes: Int, text: String) {
    #expect(Terminal.size(bytes) == text)
  }

  @Test("A count of one has a singular noun, and other counts have a plural")
  func counts() {
    #expect([0, 1, 2].map { Terminal.count($0, "user") } == ["0 users", "1 user", "2 users"])
  }

  @Test("Control characters are escaped before they reach a terminal")
  func harmless() {
    let text = "a\u{1B}[2Jb\u{9B}c\u{202E}d\r\n\u{7F}é日\u{E000}"
    #expect(Terminal.harmless(text) == #"a\u{1b}[2Jb\u{9b}c\u{202e}d\u{d}\u{a}\u{7f}é日\u{e000}"#)
  }

  @Test("JSON for a terminal escapes control characters and keeps its meaning", arguments: [1, 2, 3, 7, 1000])
  func harmlessJSON(length: Int) throws {
    let steering = "b\u{9B}c\u{202E}d\u{7F}é日\u{E000}\u{E0001}\u{2028}"
    let document: JSON = ["a": .string("\u{1B}[2J\r\n\(steering)"), steering: [.string("\u{1F469}"), 1]]
    let text = Array("[\n  ".utf8) + document.encoded() + Array("\n]\n".utf8)
    var (escaped, harmless): ([UInt8], TerminalJSON) = ([], TerminalJSON())
    // A piece may end anywhere, also within a character.
    for start in stride(from: 0, to: text.count, by: length) {
      escaped += harmless.next(Array(text[start..<min(text.count, start + length)]))
    }
    #expect(try JSON(parsing: escaped) == [document])
    let shown = String(decoding: escaped, as: UTF8.self)
    #expect(shown == TerminalJSON.text(String(decoding: text, as: UTF8.self)))
    #expect(shown.contains(#"b\u009bc\u202ed\u007fé日\ue000\udb40\udc01\u2028"#))
    #expect(shown.contains("\u{1F469}"))
    #expect(!shown.unicodeScalars.contains { $0 != "\n" && Terminal.isControl($0) })
  }

  private static func entry(
    device: String? = "iPad",
    session: String? = "01a1ff2c-57b5-7405-9be5-eab90ceb3c3e",
    agent: String? = nil,
    action: String = #"{"type":"add","payload":{"id":"a"}}"#,
    mutations: String = #"[{"type":"inserted","payload":{"index":0,"item":{"id":"a"}}}]"#
  ) -> JournalTail.Entry {
    JournalTail.Entry(
      cursor: "c",
      at: Timestamp(millisecondsSince1970: 0),
      device: device,
      session: session,
      agent: agent,
      collection: "favorites",
      action: action,
      mutations: mutations
    )
  }

  /// Journal entries, and their lines without the time.
  private static let lines: [(entry: JournalTail.Entry, line: String)] = [
    (entry(), #"iPad  favorites  add {"id":"a"}  =>  inserted a"#),
    (entry(device: nil), #"session …0ceb3c3e  favorites  add {"id":"a"}  =>  inserted a"#),
    (
      entry(device: nil, session: nil, agent: "ro\u{1B}bot"),
      #"by ro\u{1b}bot  favorites  add {"id":"a"}  =>  inserted a"#
    ),
    (entry(device: nil, session: nil), #"-  favorites  add {"id":"a"}  =>  inserted a"#),
    (entry(device: "x\u{1B}[31m"), #"x\u{1b}[31m  favorites  add {"id":"a"}  =>  inserted a"#),
    (
      entry(action: #"{"type":"clear","payload":{}}"#, mutations: #"[{"type":"cleared","payload":{}}]"#),
      "iPad  favorites  clear  =>  cleared"
    ),
    (
      entry(
        mutations: "[" + (1...6).map { #"{"type":"set","payload":{"key":"k\#($0)"}}"# }.joined(separator: ",") + "]"
      ),
      #"iPad  favorites  add {"id":"a"}  =>  set k1, set k2, set k3, set k4 and 2 more"#
    ),
    (
      entry(action: #"{"type":"add","payload":{"id":"\#(String(repeating: "x", count: 80))"}}"#),
      "iPad  favorites  add {\"id\":\"\(String(repeating: "x", count: 52))…  =>  inserted a"
    ),
    (entry(action: "nonsense", mutations: "nonsense"), "iPad  favorites  nonsense  =>  "),
  ]

  @Test("A journal entry is printed on one line", arguments: lines.indices)
  func entries(index: Int) {
    let (entry, line) = Self.lines[index]
    #expect(TailLine.text(entry, isColoured: false) == "1970-01-01T00:00:00.000Z  \(line)")
  }

  @Test("The line in colors is the same line with a color for each part")
  func colours() {
    let line = TailLine.text(Self.entry(), isColoured: true)
    #expect(line.contains("\u{1B}[90m1970-01-01T00:00:00.000Z\u{1B}[0m  \u{1B}[36miPad\u{1B}[0m"))
    #expect(line.split(separator: "\u{1B}[0m").count == 4)
  }

  @Test("The line for scripts is JSON without control characters")
  func json() {
    #expect(TailLine.json(Self.entry(device: "x\u{9B}y")).contains(#""device":"x\u009by""#))
    #expect(
      TailLine.json(Self.entry())
        == #"{"cursor":"c","at":"1970-01-01T00:00:00.000Z","session":"01a1ff2c-57b5-7405-9be5-eab90ceb3c3e","#
        + #""device":"iPad","collection":"favorites","action":{"type":"add","payload":{"id":"a"}},"#
        + #""mutations":[{"type":"inserted","payload":{"index":0,"item":{"id":"a"}}}]}"#
    )
  }
}

@Suite("Arguments that belong to no option", .timeLimit(.minutes(10)))
struct OperandTests {
  private func refusal(_ arguments: [String]) -> String? {
    do {
      _ = try OptionParser.settings(of: CompletionsCommand.syntax, arguments: arguments) { _ in nil }
      return nil
    } catch {
      return error.message
    }
  }

  @Test("A missing, wrong or additional argument is refused, and the error names the possible values")
  func operands() {
    #expect(refusal(["zsh"]) == nil)
    #expect(refusal([]) == "bash|zsh|fish is missing: lockstep completions bash|zsh|fish.")
    #expect(refusal(["tcsh"]) == "bash|zsh|fish cannot be “tcsh”: it must be one of bash, zsh, fish.")
    #expect(refusal(["zsh", "bash"]) == "unexpected argument “bash”; options begin with --.")
    #expect(refusal(["--shell"]) == "there is no option --shell.")
  }

  @Test("An option that must be given each time has no variable, so a forgotten variable overwrites nothing")
  func variables() {
    let syntax = RestoreCommand.syntax
    let environment = ["LOCKSTEP_FORCE": "1", "LOCKSTEP_FROM": "x", "LOCKSTEP_DATA": "y"]
    let settings = try? OptionParser.settings(of: syntax, arguments: []) { environment[$0] }
    #expect(settings?.force == false && settings?.from == nil && settings?.data == "y")
    #expect(syntax.options.filter(\.hasVariable).map(\.name) == ["--data", "--store"])
  }

  @Test(
    "A store of `copy` is a file, unless it looks like a connection",
    arguments: [
      ("store.db", .file("store.db")), ("./a=b.db", .file("./a=b.db")), ("/x/service=y", .file("/x/service=y")),
      ("postgresql://u@h/d", .database("postgresql://u@h/d")), ("postgres:///d", .database("postgres:///d")),
      ("service=lockstep", .database("service=lockstep")), ("host=/run dbname=d", .database("host=/run dbname=d")),
    ] as [(String, StoreLocation)]
  )
  func copiedStores(text: String, location: StoreLocation) throws {
    let settings = try OptionParser.settings(of: CopyCommand.syntax, arguments: ["--from", text, "--to", text]) { _ in
      nil
    }
    #expect(settings.from == location && settings.to == location)
  }

  @Test(
    "A URL is a host and a port",
    arguments: [
      ("http://127.0.0.1:8080", "127.0.0.1", 8080), ("http://h", "h", 80), ("HTTP://h/", "h", 80),
      ("http://[::1]:81/", "::1", 81), ("http://[::1]", "::1", 80),
    ]
  )
  func urls(text: String, host: String, port: Int) throws {
    let settings = try OptionParser.settings(of: HealthCommand.syntax, arguments: ["--url", text]) { _ in nil }
    #expect(settings.address.host == host && settings.address.port == port)
  }

  @Test(
    "Any other URL is refused",
    arguments: ["h:80", "https://h", "http://", "http://h/x", "http://h:x", "http://u@h"]
  )
  func wrongURLs(text: String) {
    #expect(throws: OptionParser.UsageError.self) {
      try OptionParser.settings(of: HealthCommand.syntax, arguments: ["--url", text]) { _ in nil }
    }
  }

  @Test(
    "The completions for each shell contain every option of every command",
    arguments: CompletionsCommand.Shell.allCases
  )
  func completions(shell: CompletionsCommand.Shell) {
    let script = Completions(Command.all()).script(for: shell)
    for command in Command.all() {
      for option in command.options {
        let name = shell == .fish ? String(option.name.drop { $0 == "-" }) : option.name
        #expect(script.contains(name), "\(command.name) \(option.name)")
      }
    }
  }
}
