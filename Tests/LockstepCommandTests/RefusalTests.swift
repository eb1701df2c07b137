import Testing

@testable import LockstepCommand

@Suite("An invalid value is refused, and the error names the option and the valid values", .timeLimit(.minutes(10)))
struct RefusalTests {
  private static let size = "it must be a size such as 65536, 64KiB or 1MiB, from"
  private static let time = "it must be a time such as 500ms, 10s or 2m, from 1ms to 24h"
  private static let backupTime = "it must be a time such as 90s, 10m or 6h, from 60s to 24h"
  private static let sizes = ["", "x", "-1", "1.5", "1 KiB", "1TiB", "KiB", "９", "9223372036854775808", "8388608GiB"]
  private static let count = "it must be a whole number from 0 to 1000000000"
  private static let counts = ["", "-1", "1000000001", "many", "1k"]
  private static let rate =
    "it must be a number and a time of whole seconds such as 100/10s, or 100/10s,20; numbers from 1 to 1000000"
  private static let rates = [
    "", "100", "100/", "/10s", "0/10s", "1000001/10s", "1/0", "1/500ms", "1/25h", "1/10s,", "1/10s,0", "1/10s,1000001",
    "1/10s,2,3",
    "1/2/3", "-1/10s", "many/10s", "1/10s,x",
  ]
  private static let times = ["", "0", "0ms", "-1", "1.5s", "s", "1d", "25h", "86401", "99999999999999999999", "1 s"]

  /// An option, invalid values for it, and the reason in the error.
  private static let refusals: [(name: String, values: [String], reason: String)] = [
    ("--host", [""], "it is empty"),
    ("--port", ["", "-1", "65536", "80a", "0x50", "８０", " 80", "+80"], "it must be a whole number from 0 to 65535"),
    ("--data", [""], "it is empty"),
    ("--store", [""], "it is empty"),
    (
      "--node-address",
      [
        "", "10.0.0.7:8080", "https://a", "http://", "http://a/b", "http://a:0", "http://u@a", "http://a?b",
        "http://[::1",
      ],
      "it must be http:// with a host, with or without a port, such as http://10.0.0.7:8080"
    ),
    ("--threads", ["", "0", "257", "two"], "it must be a whole number from 1 to 256"),
    (
      "--cors-origin",
      [
        "app.example", "https://app.example/", "https://app.example/x", "https:/app.example", "https://", "null",
        "https://a b", "https://ä.example", "://x", "https://app.example?x", "https://app.example#x",
        "https://user@app.example", "https://*.example", "https://a.example,nonsense",
      ],
      "is not an origin; write it as browsers do, such as https://app.example, without a path"
    ),
    (
      "--trusted-proxy",
      [
        "proxy", "10.0.0.0/33", "fd00::/129", "10.0.0.0/", "10.0.0.0/-1", "10.0.0/8", "127.0.0.1:80", "[::1]",
        "fe80::1%eth0",
        "10.0.0.1,nonsense", "10.0.0.0/8/8",
      ],
      "is not an address or network; write 127.0.0.1, ::1, 10.0.0.0/8 or fd00::/8, without a port"
    ),
    (
      "--profile-upstream", ["", "people.example", "ftp://people.example", "https:/people.example", "/etc/passwd"],
      "it must begin with https:// or http://"
    ),
    ("--reads", ["", "Strict", "true"], "it must be one of recent, strict"),
    ("--registration", ["", "Open", "true"], "it must be one of open, closed"),
    ("--token-days", ["", "0", "36501", "90d"], "it must be a whole number from 1 to 36500"),
    ("--password-min", ["", "0", "257"], "it must be a whole number from 1 to 256"),
    (
      "--identity", ["issuer=https://a.example"],
      "audience= is missing; without it, the server would accept tokens that the issuer made for other apps"
    ),
    (
      "--admin-token", ["", "two words", "umläut", "tab\t"],
      "it must be visible ASCII characters without spaces"
    ),
    ("--max-favorites", counts, count), ("--max-suites", counts, count), ("--max-default-keys", counts, count),
    ("--max-favorites-bytes", sizes + ["1025GiB"], "\(size) 0 to 1099511627776 bytes"),
    ("--max-history-bytes", sizes + ["0", "1048575", "1025GiB"], "\(size) 1048576 to 1099511627776 bytes"),
    ("--max-key-bytes", sizes + ["0", "65535", "1025GiB"], "\(size) 65536 to 1099511627776 bytes"),
    ("--max-suite-bytes", sizes + ["1025GiB"], "\(size) 0 to 1099511627776 bytes"),
    ("--history-days", ["", "-1", "36501", "1.5"], "it must be a whole number from 0 to 36500"),
    ("--history-min", ["", "0", "1000000001"], "it must be a whole number from 1 to 1000000000"),
    ("--cache-mb", ["", "0", "1048577", "64MiB"], "it must be a whole number from 1 to 1048576"),
    ("--max-wait", ["", "-1", "86401", "55s"], "it must be a whole number from 0 to 86400"),
    ("--max-waits-per-user", counts, count), ("--max-waits", counts, count),
    ("--max-connections", ["", "0", "10000001", "1k"], "it must be a whole number from 1 to 10000000"),
    ("--rate-limit", rates, rate), ("--rate-limit-address", rates, rate),
    ("--max-request-line", sizes + ["0", "63", "2MiB"], "\(size) 64 to 1048576 bytes"),
    ("--max-header-section", sizes + ["0", "63", "17MiB"], "\(size) 64 to 16777216 bytes"),
    ("--max-header-fields", ["", "0", "10001"], "it must be a whole number from 1 to 10000"),
    ("--max-body", sizes + ["1073741825", "2GiB"], "\(size) 0 to 1073741824 bytes"),
    ("--max-body-memory", sizes + ["1025GiB"], "\(size) 0 to 1099511627776 bytes"),
    ("--body-rate", sizes + ["0"], "\(size) 1 to 1073741824 bytes"),
    ("--max-output-memory", sizes + ["1025GiB"], "\(size) 0 to 1099511627776 bytes"),
    ("--response-rate", sizes + ["0"], "\(size) 1 to 1073741824 bytes"),
    ("--head-timeout", times, time), ("--body-grace", times, time), ("--idle-timeout", times, time),
    ("--output-timeout", times, time), ("--drain-timeout", times, time),
    ("--backup-dir", [""], "it is empty"), ("--backup-every", times + ["59s", "1ms"], backupTime),
    ("--backup-keep", ["", "0", "100001", "7d"], "it must be a whole number from 1 to 100000"),
    ("--backup-rate", sizes + ["1025GiB"], "\(size) 0 to 1099511627776 bytes"),
    ("--log-format", ["", "xml", "JSON"], "it must be one of text, json"),
    ("--log-level", ["", "trace", "Info"], "it must be one of debug, info, warning, error"),
    ("--access-log", ["", "maybe", "2"], "it must be true or false"),
    ("--inspector", ["", "maybe", "2"], "it must be true or false"),
    ("--webhook-allow-private", ["", "maybe", "2"], "it must be true or false"),
    ("--smtp", ["", "mail.example.com", "https://mail.example.com"], "it must begin with smtp:// or smtps://"),
    (
      "--mail-from", ["", "notes", "Notes <notes>", "nötes@example.com"],
      "it must be an e-mail address in ASCII, such as notes@example.com or Notes <notes@example.com>"
    ),
    ("--public-url", ["", "notes.example.com", "ftp://notes.example.com"], "it must begin with https:// or http://"),
    ("--mail-templates", ["", "/nonexistent"], "It cannot be read: No such file or directory"),
  ]

  private func refusal(_ arguments: [String], _ environment: [String: String] = [:]) -> String? {
    do {
      _ = try OptionParser.settings(of: ServeCommand.syntax, arguments: arguments) { environment[$0] }
      return nil
    } catch {
      return error.message
    }
  }

  @Test("Every option refuses some value")
  func complete() {
    #expect(Set(Self.refusals.map(\.name)) == Set(ServeOptions.all.map(\.name)))
  }

  @Test("A refusal names the option or the variable that the value came from", arguments: refusals)
  func values(name: String, values: [String], reason: String) throws {
    let option = try #require(ServeOptions.all.first { $0.name == name })
    for value in values {
      let line = try #require(refusal(["\(name)=\(value)"]), "\(value)")
      // The error does not repeat a secret.
      let given = option.isSecret ? "the given value" : "“\(value)”"
      #expect(line.hasPrefix("\(name) cannot be \(given): "))
      #expect(line.hasSuffix("\(reason)."), "\(line)")
      guard !value.isEmpty else {
        #expect(refusal([], [option.variable: value]) == nil, "an empty variable counts as unset")
        continue
      }
      let variable = try #require(refusal([], [option.variable: value]), "\(value)")
      #expect(variable.hasPrefix("\(option.variable) cannot be \(given): "))
      #expect(variable.hasSuffix("\(reason)."), "\(variable)")
    }
  }

  @Test(
    "An option at the end or before another option is refused if it needs a value",
    arguments: ServeOptions.all.map(\.name)
  )
  func missing(name: String) throws {
    let option = try #require(ServeOptions.all.first { $0.name == name })
    guard let placeholder = option.placeholder else {
      #expect(refusal([name]) == nil)
      return
    }
    let message = "\(name) needs a value: \(name) \(placeholder)."
    #expect(refusal([name]) == message)
    #expect(refusal([name, "--access-log"]) == message)
    #expect(refusal([name, "--port=1"]) == message)
    #expect(refusal([name, "--"]) == message)
  }

  @Test("A value that begins with a hyphen is given with an equals sign")
  func dashes() throws {
    let configuration = try OptionParser.settings(of: ServeCommand.syntax, arguments: ["--data=--port"]) { _ in nil }
    #expect(configuration.data == "--port")
    let relative = try OptionParser.settings(of: ServeCommand.syntax, arguments: ["--data", "-"]) { _ in nil }
    #expect(relative.data == "-")
  }

  @Test("A store is a file or a database, and a file is never served beside LOCKSTEP_STORE")
  func stores() throws {
    let syntax = ServeCommand.syntax
    let both = ["--data", "a.db", "--store=postgresql://b/c"]
    #expect(throws: OptionParser.UsageError(message: "--data and --store cannot be combined.")) {
      try OptionParser.settings(of: syntax, arguments: both) { _ in nil }
    }
    let variables = ["LOCKSTEP_DATA": "a.db", "LOCKSTEP_STORE": "postgresql://b/c"]
    #expect(try OptionParser.settings(of: syntax, arguments: []) { variables[$0] }.store == "postgresql://b/c")
    #expect(
      refusal(["--data", "d.db"], variables)
        == "--data and the variable LOCKSTEP_STORE cannot be combined. Remove one of them."
    )
    let database = ["--store", "postgresql://d/e"]
    #expect(try OptionParser.settings(of: syntax, arguments: database) { variables[$0] }.store == "postgresql://d/e")
    #expect(refusal(database + database) == "--store can be given only once.")
    #expect(refusal(["--data", "a.db", "--data=b.db"]) == "--data can be given only once.")
    // A command that looks into a file overrides the variable.
    let list = try OptionParser.settings(of: CheckCommand.syntax, arguments: ["--data", "d.db"]) { variables[$0] }
    #expect(list.store == nil && list.data == "d.db")
    #expect(throws: OptionParser.UsageError.self) {
      try OptionParser.settings(of: syntax, arguments: ["--store=postgresql://b/c", "--backup-dir=x"]) { _ in nil }
    }
  }

  @Test("Memory for bodies that is less than the largest body is refused, whichever option was given")
  func bodyMemory() {
    let message = "--max-body-memory (1023KiB) cannot be less than --max-body (1MiB): the largest body would never fit."
    #expect(refusal(["--max-body-memory=1023KiB"]) == message)
    let other = refusal([], ["LOCKSTEP_MAX_BODY": "512MiB"])
    #expect(other?.contains("(256MiB) cannot be less than --max-body (512MiB)") == true)
    #expect(refusal(["--max-body-memory=512MiB", "--max-body=512MiB"]) == nil)
  }

  @Test(
    "An unknown option or argument is named in the error",
    arguments: [
      (["--prot", "80"], "there is no option --prot."), (["--prot=80"], "there is no option --prot."),
      (["-p", "80"], "there is no option -p."), (["--Port", "80"], "there is no option --Port."),
      (["--"], "there is no option --."), (["8080"], "unexpected argument “8080”; options begin with --."),
      (["--access-log", "on"], "unexpected argument “on”; options begin with --."),
      ([""], "unexpected argument “”; options begin with --."),
    ]
  )
  func unknown(arguments: [String], message: String) {
    #expect(refusal(arguments) == message)
  }
}
