import LockstepComposition
import LockstepAccounts
import LockstepHTTP
import LockstepTestSupport
import Testing

@testable import LockstepCommand

@Suite("Options are read from the command line and from variables", .timeLimit(.minutes(10)))
struct OptionParserTests {
  /// An option, a value that differs from the default, and a check that the configuration has the
  /// value.
  struct Case: Sendable, CustomTestStringConvertible {
    let name: String
    let value: String
    let variable: String
    let isSet: @Sendable (Configuration) -> Bool
    var testDescription: String { name }

    init(_ name: String, _ value: String, _ variable: String, isSet: @escaping @Sendable (Configuration) -> Bool) {
      self.name = name
      self.value = value
      self.variable = variable
      self.isSet = isSet
    }
  }

  private static let cases = [
    Case("--host", "::1", "LOCKSTEP_HOST") { $0.host == "::1" },
    Case("--port", "65535", "LOCKSTEP_PORT") { $0.port == 65_535 },
    Case("--data", "/x/y z.db", "LOCKSTEP_DATA") { $0.data == "/x/y z.db" },
    Case("--store", "postgresql://a@b/c", "LOCKSTEP_STORE") { $0.store == "postgresql://a@b/c" },
    Case("--node-address", "http://node-1.internal:8080/", "LOCKSTEP_NODE_ADDRESS") {
      $0.nodeAddress?.description == "http://node-1.internal:8080"
    },
    Case("--threads", "3", "LOCKSTEP_THREADS") { $0.threads == 3 },
    Case("--cors-origin", "https://a.example, http://localhost:3000", "LOCKSTEP_CORS_ORIGIN") {
      $0.corsOrigins == ["https://a.example", "http://localhost:3000"]
    },
    Case("--trusted-proxy", "127.0.0.1, fd00::/8", "LOCKSTEP_TRUSTED_PROXY") {
      $0.trustedProxies.map(\.description) == ["127.0.0.1", "fd00::/8"]
    },
    Case("--profile-upstream", "https://u:p@people.example/hook?key=1", "LOCKSTEP_PROFILE_UPSTREAM") {
      $0.profileUpstream?.text == "https://u:p@people.example/hook?key=1"
    },
    Case("--reads", "strict", "LOCKSTEP_READS") { $0.reads == .strict },
    Case("--registration", "closed", "LOCKSTEP_REGISTRATION") { $0.accounts.registration == .closed },
    Case("--token-days", "7", "LOCKSTEP_TOKEN_DAYS") { $0.accounts.tokenLifetime == .seconds(604_800) },
    Case("--password-min", "12", "LOCKSTEP_PASSWORD_MIN") { $0.accounts.passwordRules.minimumCharacters == 12 },
    Case("--identity", "issuer=https://a.example,audience=app", "LOCKSTEP_IDENTITY") {
      $0.trustedIssuers.map(\.name) == ["https://a.example"]
    },
    Case("--admin-token", "s3cret", "LOCKSTEP_ADMIN_TOKEN") { $0.administratorToken == "s3cret" },
    Case("--max-favorites", "5", "LOCKSTEP_MAX_FAVORITES") { $0.favoritesQuota.elements == 5 },
    Case("--max-favorites-bytes", "1MiB", "LOCKSTEP_MAX_FAVORITES_BYTES") { $0.favoritesQuota.bytes == 1_048_576 },
    Case("--max-suites", "2", "LOCKSTEP_MAX_SUITES") { $0.defaultsQuota.suites == 2 },
    Case("--max-default-keys", "9", "LOCKSTEP_MAX_DEFAULT_KEYS") { $0.defaultsQuota.keys == 9 },
    Case("--max-suite-bytes", "64k", "LOCKSTEP_MAX_SUITE_BYTES") { $0.defaultsQuota.bytes == 65_536 },
    Case("--max-history-bytes", "1MiB", "LOCKSTEP_MAX_HISTORY_BYTES") { $0.history.bytes == 1_048_576 },
    Case("--max-key-bytes", "64KiB", "LOCKSTEP_MAX_KEY_BYTES") { $0.history.keyBytes == 65_536 },
    Case("--history-days", "0", "LOCKSTEP_HISTORY_DAYS") { $0.history.days == 0 },
    Case("--history-min", "10", "LOCKSTEP_HISTORY_MIN") { $0.history.revisions == 10 },
    Case("--cache-mb", "3", "LOCKSTEP_CACHE_MB") { $0.cacheBytes == 3 * 1_048_576 },
    Case("--max-wait", "30", "LOCKSTEP_MAX_WAIT") { $0.longestWait == 30 },
    Case("--max-waits-per-user", "5", "LOCKSTEP_MAX_WAITS_PER_USER") { $0.waiting.perUser == 5 },
    Case("--max-waits", "500", "LOCKSTEP_MAX_WAITS") { $0.waiting.inAll == 500 },
    Case("--max-connections", "17", "LOCKSTEP_MAX_CONNECTIONS") { $0.limits.connections == 17 },
    Case("--rate-limit", "100/10s,20", "LOCKSTEP_RATE_LIMIT") {
      $0.tokenRate == RateLimit(requests: 100, seconds: 10, burst: 20)
    },
    Case("--rate-limit-address", "5/1m", "LOCKSTEP_RATE_LIMIT_ADDRESS") {
      $0.addressRate == RateLimit(requests: 5, seconds: 60, burst: 5)
    },
    Case("--max-request-line", "1KiB", "LOCKSTEP_MAX_REQUEST_LINE") { $0.limits.requestLine == 1024 },
    Case("--max-header-section", "2k", "LOCKSTEP_MAX_HEADER_SECTION") { $0.limits.headerSection == 2048 },
    Case("--max-header-fields", "9", "LOCKSTEP_MAX_HEADER_FIELDS") { $0.limits.headerFields == 9 },
    Case("--max-body", "3MiB", "LOCKSTEP_MAX_BODY") { $0.limits.body == 3 * 1_048_576 },
    Case("--head-timeout", "500ms", "LOCKSTEP_HEAD_TIMEOUT") { $0.limits.headTime == .milliseconds(500) },
    Case("--max-body-memory", "2GiB", "LOCKSTEP_MAX_BODY_MEMORY") { $0.limits.bodyMemory == 2_147_483_648 },
    Case("--body-grace", "2m", "LOCKSTEP_BODY_GRACE") { $0.limits.bodyGrace == .seconds(120) },
    Case("--body-rate", "1", "LOCKSTEP_BODY_RATE") { $0.limits.bodyRate == 1 },
    Case("--max-output-memory", "2GiB", "LOCKSTEP_MAX_OUTPUT_MEMORY") { $0.limits.outputMemory == 2_147_483_648 },
    Case("--response-rate", "1", "LOCKSTEP_RESPONSE_RATE") { $0.limits.responseRate == 1 },
    Case("--idle-timeout", "1h", "LOCKSTEP_IDLE_TIMEOUT") { $0.limits.idleTime == .seconds(3600) },
    Case("--output-timeout", "7s", "LOCKSTEP_OUTPUT_TIMEOUT") { $0.limits.outputStall == .seconds(7) },
    Case("--drain-timeout", "3", "LOCKSTEP_DRAIN_TIMEOUT") { $0.limits.drainTime == .seconds(3) },
    Case("--backup-dir", "/backups", "LOCKSTEP_BACKUP_DIR") { $0.backups.folder == "/backups" },
    Case("--backup-every", "90m", "LOCKSTEP_BACKUP_EVERY") { $0.backups.every == .seconds(5400) },
    Case("--backup-keep", "3", "LOCKSTEP_BACKUP_KEEP") { $0.backups.keep == 3 },
    Case("--backup-rate", "0", "LOCKSTEP_BACKUP_RATE") { $0.backups.bytesPerSecond == nil },
    Case("--log-format", "json", "LOCKSTEP_LOG_FORMAT") { $0.logFormat == .json },
    Case("--log-level", "debug", "LOCKSTEP_LOG_LEVEL") { $0.logLevel == .debug },
    Case("--access-log", "true", "LOCKSTEP_ACCESS_LOG") { $0.accessLog },
    Case("--inspector", "true", "LOCKSTEP_INSPECTOR") { $0.inspector },
    Case("--webhook-allow-private", "true", "LOCKSTEP_WEBHOOK_ALLOW_PRIVATE") { $0.webhookAllowPrivate },
  ]

  private func parse(_ arguments: [String], _ environment: [String: String] = [:]) throws -> Configuration {
    try OptionParser.settings(of: ServeCommand.syntax, arguments: arguments) { environment[$0] }
  }

  private func refusal(_ arguments: [String], _ environment: [String: String] = [:]) -> String? {
    do {
      _ = try parse(arguments, environment)
      return nil
    } catch {
      return (error as? OptionParser.UsageError)?.message
    }
  }

  @Test("Every option is tested here")
  func complete() {
    // Those for mails go together.
    #expect(Set(Self.cases.map(\.name)) == Set(ServeOptions.all.map(\.name)).subtracting(MailOptions.all.map(\.name)))
    #expect(Set(ServeOptions.all.map(\.name)).count == ServeOptions.all.count)
  }

  @Test("Without arguments, every option has its default")
  func defaults() throws {
    let configuration = try parse([])
    for option in Self.cases { #expect(!option.isSet(configuration), "\(option.name)") }
    #expect(configuration.host == "127.0.0.1" && configuration.port == 8080 && configuration.data == "./lockstep.db")
    #expect(configuration.limits == Limits())
  }

  @Test("--identity may be repeated, and its variable has several issuers between spaces")
  func severalIssuers() throws {
    let (first, second) = ("issuer=https://a.example,audience=app", "issuer=https://b.example,audience=app")
    let issuers = ["https://a.example", "https://b.example"]
    #expect(try parse(["--identity", first, "--identity=\(second)"]).trustedIssuers.map(\.name) == issuers)
    let both = try parse([], ["LOCKSTEP_IDENTITY": "\(first)  \(second)"])
    #expect(both.trustedIssuers.map(\.name) == issuers)
    #expect(refusal(["--identity", first, "--identity", first])?.contains("https://a.example") == true)
  }

  @Test("The options for mails go together, each from the command line or a variable")
  func mail() throws {
    let arguments = ["--mail-from", "Notes <notes@example.com>", "--public-url=https://notes.example.com/"]
    let relay = ["LOCKSTEP_SMTP": "smtps://me:secret@mail.example.com"]
    let mail = try parse(arguments, relay).mail
    #expect(mail.relay?.description == "smtps://mail.example.com:465" && mail.relay?.login?.password == "secret")
    #expect(mail.sender?.address == "notes@example.com" && mail.sender?.name == "Notes")
    #expect(mail.publicURL?.description == "https://notes.example.com" && mail.templates == nil)
    let folder = try TemporaryDirectory()
    #expect(try parse(arguments + ["--mail-templates", folder.path], relay).mail.templates?.folder == folder.path)
    let variables = [
      "LOCKSTEP_MAIL_FROM": "notes@example.com", "LOCKSTEP_PUBLIC_URL": "http://a.example",
      "LOCKSTEP_MAIL_TEMPLATES": folder.path,
    ]
    #expect(try parse(["--smtp", "smtp://127.0.0.1"], variables).mail.templates != nil)
    #expect(refusal([], relay)?.hasPrefix("--smtp needs --mail-from: ") == true)
    #expect(refusal(Array(arguments.prefix(2)), relay)?.hasPrefix("--smtp needs --public-url: ") == true)
    #expect(try parse(Array(arguments.suffix(1))).mail.publicURL?.origin == "https://notes.example.com")
    for option in [Array(arguments.prefix(2)), ["--mail-templates", folder.path]] {
      let name = option.first?.prefix { $0 != "=" } ?? ""
      #expect(refusal(option)?.hasPrefix("\(name) needs --smtp: ") == true)
    }
  }

  @Test("A fault of a template names its file and line")
  func templates() throws {
    let folder = try TemporaryDirectory()
    try folder.write(Array("Subject: x\n\n{link} {lnk}\n".utf8), to: "password-reset.de.txt")
    #expect(
      refusal(["--mail-templates", folder.path])
        == "--mail-templates cannot be “\(folder.path)”: password-reset.de.txt:3: {lnk} is not a placeholder of this "
        + "mail. Use {link}, {email}, {minutes}, {server}."
    )
  }

  @Test("`--name value`, `--name=value` and the variable each set an option and change no other", arguments: cases)
  func everyWay(option: Case) throws {
    let isFlag = ["--access-log", "--inspector", "--webhook-allow-private"].contains(option.name)
    let separate = isFlag ? [option.name] : [option.name, option.value]
    let configurations = [
      try parse(separate), try parse(["\(option.name)=\(option.value)"]),
      try parse([], [option.variable: option.value]),
    ]
    for configuration in configurations {
      #expect(option.isSet(configuration))
      for other in Self.cases where other.name != option.name { #expect(!other.isSet(configuration), "\(other.name)") }
    }
  }

  @Test("The command line wins over the variable, and the last value of a repeated option wins")
  func precedence() throws {
    #expect(try parse(["--port", "1"], ["LOCKSTEP_PORT": "2"]).port == 1)
    #expect(try parse(["--port=1", "--port", "3"]).port == 3)
    #expect(try parse(["--access-log=false"], ["LOCKSTEP_ACCESS_LOG": "true"]).accessLog == false)
    #expect(try parse(["--threads", "2"], ["LOCKSTEP_PORT": "2"]).port == 2)
    #expect(
      refusal(["--port", "1"], ["LOCKSTEP_PORT": "x"]) != nil,
      "a wrong variable must be refused even if the option is given"
    )
    #expect(try parse([], ["LOCKSTEP_UNKNOWN": "x", "PORT": "1"]).port == 8080)
  }

  /// The texts of sizes, and the number of bytes that they mean.
  private static let numbers: [(value: String, bytes: Int)] = [
    ("0", 0), ("1", 1), ("00010", 10), ("1b", 1), ("1B", 1), ("1k", 1024), ("1K", 1024), ("1KiB", 1024),
    ("1kib", 1024), ("1m", 1_048_576), ("1MiB", 1_048_576), ("1g", 1_073_741_824), ("1GiB", 1_073_741_824),
  ]

  @Test("A size is a number of bytes or has a unit based on 1024", arguments: numbers)
  func sizes(value: String, bytes: Int) throws {
    #expect(try parse(["--max-suite-bytes", value]).defaultsQuota.bytes == bytes)
  }

  @Test(
    "A time is a number of seconds or has a unit, and is at most a day",
    arguments: [
      ("1", 1000), ("1s", 1000), ("1ms", 1), ("1m", 60_000), ("24h", 86_400_000), ("86400", 86_400_000),
      ("86400000ms", 86_400_000), ("1440m", 86_400_000),
    ]
  )
  func times(value: String, milliseconds: Int) throws {
    #expect(try parse(["--idle-timeout", value]).limits.idleTime == .milliseconds(milliseconds))
  }

  @Test(
    "A switch accepts the usual words for true and false",
    arguments: [
      ("true", true), ("1", true), ("YES", true), ("on", true), ("false", false), ("0", false), ("No", false),
      ("off", false),
    ]
  )
  func booleans(value: String, isOn: Bool) throws {
    #expect(try parse(["--access-log=\(value)"], ["LOCKSTEP_ACCESS_LOG": "\(!isOn)"]).accessLog == isOn)
  }

  /// Lists of origins as operators write them, and the origins as browsers send them.
  private static let origins: [(value: String, origins: [String])] = [
    ("", []), ("*", ["*"]),
    (" https://a.example ,,http://b.example:81,", ["https://a.example", "http://b.example:81"]),
    ("HTTPS://App.Example", ["https://app.example"]), ("capacitor://localhost", ["capacitor://localhost"]),
    ("https://[::1]:8443", ["https://[::1]:8443"]),
  ]

  @Test("Origins are separated by commas and compared in the form that browsers send", arguments: origins)
  func corsOrigins(value: String, origins: [String]) throws {
    #expect(try parse(["--cors-origin", value]).corsOrigins == origins)
  }
}
