import Testing

@testable import LockstepCommand

@Suite("The help describes every option and command", .timeLimit(.minutes(10)))
struct HelpTests {
  /// The default of each option, in the words of the help.
  private static let defaults: [(name: String, text: String)] = [
    ("--host", "Default 127.0.0.1"), ("--port", "Default 8080"), ("--data", "Default ./lockstep.db"),
    ("--store", "Default: none"), ("--node-address", "Default: the address that the server listens on"),
    ("--reads", "Default recent"), ("--threads", "Default: one per core"), ("--cors-origin", "Default: none"),
    ("--trusted-proxy", "Default: none"), ("--profile-upstream", "Default: none"),
    ("--inspector", "Default: off"),
    ("--registration", "Default open"), ("--token-days", "Default 90"), ("--password-min", "Default 8"),
    ("--identity", "Default: none"), ("--admin-token", "Default: none"), ("--max-favorites", "Default 10000"),
    ("--max-favorites-bytes", "Default 16MiB"), ("--max-suites", "Default 64"), ("--max-default-keys", "Default 4096"),
    ("--max-suite-bytes", "Default 4MiB"), ("--history-days", "Default 30"), ("--history-min", "Default 1000"),
    ("--max-history-bytes", "Default 64MiB"), ("--max-key-bytes", "Default 64MiB"),
    ("--cache-mb", "Default 128"), ("--max-wait", "Default 55"), ("--max-waits-per-user", "Default 64"),
    ("--max-waits", "Default 100000"), ("--max-connections", "Default 10000"),
    ("--rate-limit", "Default: no limit"), ("--rate-limit-address", "Default: no limit"),
    ("--max-request-line", "Default 8KiB"), ("--max-header-section", "Default 32KiB"),
    ("--max-header-fields", "Default 100"), ("--max-body", "Default 1MiB"), ("--max-body-memory", "Default 256MiB"),
    ("--head-timeout", "Default 10s"),
    ("--body-grace", "Default 10s"), ("--body-rate", "Default 1KiB"), ("--idle-timeout", "Default 75s"),
    ("--backup-dir", "Default: none"), ("--backup-every", "Default 6h"), ("--backup-keep", "Default 7"),
    ("--backup-rate", "Default 64MiB"),
    ("--max-output-memory", "Default 256MiB"), ("--response-rate", "Default 1KiB"),
    ("--output-timeout", "Default 30s"), ("--drain-timeout", "Default 8s"), ("--log-format", "Default text"),
    ("--log-level", "Default info"), ("--access-log", "Default: off"),
    ("--webhook-allow-private", "Default: off"), ("--smtp", "Default: none"), ("--mail-from", "Default: none"),
    ("--public-url", "Default: none"), ("--mail-templates", "Default: none"),
  ]

  /// The entries of the help: an option's line, and the text below it joined to one line.
  private var entries: [String: String] {
    var entries: [String: String] = [:]
    var name = ""
    for line in Help.text(of: ServeCommand.syntax).split(separator: "\n") where line.hasPrefix("  ") {
      let text = line.drop { $0 == " " }
      if line.hasPrefix("  --") {
        name = String(text.prefix { $0 != " " })
        entries[name] = ""
      } else if let entry = entries[name] {
        entries[name] = entry.isEmpty ? String(text) : "\(entry) \(text)"
      }
    }
    return entries
  }

  @Test("Every option has an entry with its default", arguments: defaults)
  func entry(name: String, text: String) throws {
    let entry = try #require(entries[name])
    #expect(entry.contains(text))
    #expect(entry.hasSuffix("."))
  }

  @Test("The help has exactly the options that exist")
  func complete() {
    #expect(Set(entries.keys) == Set(ServeOptions.all.map(\.name)))
    #expect(Set(Self.defaults.map(\.name)) == Set(ServeOptions.all.map(\.name)))
  }

  @Test("An option that takes a value shows its placeholder beside the name, and a switch shows none")
  func placeholders() {
    for option in ServeOptions.all {
      let line = Help.text(of: ServeCommand.syntax).split(separator: "\n").first {
        $0 == "  \(option.name)" || $0.hasPrefix("  \(option.name) ")
      }
      #expect(line.map(String.init) == "  \(option.name)\(option.placeholder.map { " \($0)" } ?? "")")
    }
    #expect(Help.text(of: ServeCommand.syntax).contains("\n  --access-log\n"))
    #expect(Help.text(of: ServeCommand.syntax).contains("\n  --log-format text|json\n"))
  }

  @Test(
    "Lines fit a terminal of 120 columns",
    arguments: [Help.command, Help.text(of: ServeCommand.syntax)] + Command.all().map { $0.help() }
  )
  func width(text: String) {
    for line in text.split(separator: "\n") { #expect(line.count <= 120, "\(line)") }
    #expect(text.hasSuffix("\n"))
  }

  @Test("The command's help names every command")
  func commands() {
    for name in Command.all().map(\.name) + ["--help", "--version"] { #expect(Help.command.contains("\n  \(name) ")) }
  }

  @Test(
    "A size in the help parses to the value that it stands for",
    arguments: [0, 1, 1023, 1024, 8192, 1_048_576, 1_572_864]
  )
  func sizes(bytes: Int) throws {
    let format = OptionFormat.size(0...Int.max)
    #expect(try format.read(#require(format.text(bytes))) == bytes)
  }

  @Test(
    "A time in the help parses to the value that it stands for",
    arguments: [1, 500, 1000, 1500, 10_000, 3_600_000, 86_400_000]
  )
  func times(milliseconds: Int) throws {
    let format = OptionFormat.time()
    #expect(try format.read(#require(format.text(.milliseconds(milliseconds)))) == .milliseconds(milliseconds))
  }
}
