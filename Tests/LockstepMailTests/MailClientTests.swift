import Glibc
import LockstepHTTPClient
import LockstepTestSupport
import Testing

@testable import LockstepMail

@Suite("The mail client", .timeLimit(.minutes(10)))
struct MailClientTests {
  private static let message = "Subject: x\r\n\r\nHello\r\n"

  /// Sends a mail to this relay, and returns its error.
  private func send(
    _ message: String = Self.message,
    to relay: FakeRelay,
    url: String? = nil,
    within time: Duration = .seconds(600),
    responseBytes: Int = 65_536
  ) async throws -> MailError? {
    var configuration = MailClient.Configuration(relay: try MailRelay(url ?? relay.url))
    configuration.bounds = HTTPClient.Bounds(connectTime: time, totalTime: time, responseBytes: responseBytes)
    let client = try MailClient(configuration)
    async let served: Void = relay.serve()
    var failure: MailError?
    do throws(MailError) {
      try await client.send(Array(message.utf8), from: "server@example.com", to: "ada@example.org")
    } catch {
      failure = error
    }
    await aside { client.shutDown() }
    // On a full machine, the client may time out before it connects.
    relay.stopAccepting()
    await served
    return failure
  }

  /// A client that does not time out while a test runs.
  private func patientClient(of relay: FakeRelay) throws -> MailClient {
    var configuration = MailClient.Configuration(relay: try MailRelay(relay.url))
    configuration.bounds.connectTime = .seconds(600)
    configuration.bounds.totalTime = .seconds(600)
    return try MailClient(configuration)
  }

  @Test("A mail arrives with its envelope; the client greets with the sender's domain")
  func arrives() async throws {
    let relay = try FakeRelay()
    #expect(try await send(to: relay) == nil)
    #expect(
      relay.lines == [
        "EHLO example.com", "MAIL FROM:<server@example.com>", "RCPT TO:<ada@example.org>", "DATA", "Subject: x", "",
        "Hello", ".", "QUIT",
      ]
    )
  }

  @Test("Lines that begin with a dot arrive with one more, and none ends the message")
  func dots() async throws {
    let relay = try FakeRelay()
    #expect(try await send(".\r\n..\r\n\r\n.x\r\n.\r\n", to: relay) == nil)
    #expect(relay.lines.dropFirst(4).dropLast() == ["..", "...", "", "..x", "..", "."])
    let seed = TestSeed.make(for: "MailClientTests.dots")
    var numbers = SeededNumbers(seed: seed)
    for _ in 0..<20 {
      let lines = (0..<numbers.below(3000)).map { _ in numbers.one(of: ["", ".", "..", ".a", "a.", "aaaa"]) } + ["x"]
      let relay = try FakeRelay()
      #expect(try await send(lines.joined(separator: "\r\n") + "\r\n", to: relay) == nil)
      let stuffed = lines.map { $0.hasPrefix(".") ? "." + $0 : $0 }
      #expect(Array(relay.lines.dropFirst(4).dropLast(2)) == stuffed, "seed \(seed)")
    }
  }

  @Test(
    "A line that does not end in CRLF is refused before anything is sent",
    arguments: [
      "", "a", "a\n", "a\r", "a\r\nb\n.\nMAIL FROM:<x@y.z>\r\n", "a\rb\r\n", "a\r\r\n", "a\u{0}\r\n", "\n\r\n",
    ]
  )
  func lineEnds(message: String) async throws {
    let client = try MailClient(MailClient.Configuration(relay: try MailRelay("smtp://127.0.0.1:1")))
    let error = await #expect(throws: MailError.self) {
      try await client.send(Array(message.utf8), from: "a@b.c", to: "d@e.f")
    }
    #expect(error?.kind == .invalid && error?.mayRetry == false)
    await aside { client.shutDown() }
  }

  @Test(
    "An address that could add a command is refused before anything is sent",
    arguments: [
      "", "a", "@b.c", "a@", "a@b@c", "a b@c.d", "a@b.c\r\nRCPT TO:<x@y.z>", "a@b.c\n", "a@b.c>", "<a@b.c",
      "a\u{0}@b.c",
      "a\t@b.c", "a\u{7F}@b.c", String(repeating: "a", count: 251) + "@b.c",
    ]
  )
  func addresses(address: String) async throws {
    let client = try MailClient(MailClient.Configuration(relay: try MailRelay("smtp://127.0.0.1:1")))
    for (sender, recipient) in [(address, "d@e.f"), ("d@e.f", address), ("ü@e.f", "d@e.f")] {
      let error = await #expect(throws: MailError.self) {
        try await client.send(Array(Self.message.utf8), from: sender, to: recipient)
      }
      #expect(error?.kind == .invalid)
    }
    await aside { client.shutDown() }
  }

  @Test(
    "A refusal says whether the mail may be sent again",
    arguments: [
      ("MAIL", "550 no", MailError.Kind.refused), ("RCPT", "550 5.1.1 no such user", .refused),
      ("DATA", "554 no", .refused),
      (".", "554 spam", .refused), ("MAIL", "451 later", .temporary), ("RCPT", "450 later", .temporary),
      ("DATA", "421 bye", .temporary), (".", "452 full", .temporary), ("MAIL", "530 5.7.0 log in first", .login),
      ("MAIL", "hello", .temporary), ("RCPT", "\u{1}\u{2}", .temporary), (".", "999", .temporary),
    ]
  )
  func refusals(word: String, reply: String, kind: MailError.Kind) async throws {
    // A reply that is none is followed by nothing, so the client times out.
    let isReply = reply.first?.isNumber == true
    let error = try await send(
      to: try FakeRelay([word: .reply(reply)]),
      within: isReply ? .seconds(600) : .milliseconds(200)
    )
    #expect(error?.kind == kind, "\(String(describing: error))")
    #expect(error?.mayRetry == (kind != .refused))
    if reply.hasPrefix("55") { #expect(error?.detail.contains(reply) == true, "\(String(describing: error))") }
  }

  @Test(
    "If the relay's response quotes the link in the mail, the error does not have its token",
    arguments: [String(repeating: "0aF", count: 21) + "9", String(repeating: "a", count: 32)]
  )
  func quotedLink(token: String) async throws {
    for start in ["https://a.example/account/reset#token=", "", "token%3D"] {
      let reply = "451 4.7.1 URL \(start)\(token) is new, id 0123456789abcdef"
      let error = try await send(to: try FakeRelay([".": .reply(reply)]))
      #expect(error?.detail.contains(token) == false)
      #expect(error?.detail.contains("{token} is new, id 0123456789abcdef") == true, "\(String(describing: error))")
    }
  }

  @Test(
    "A relay that refuses, leaves, or speaks no SMTP is an error of its own kind",
    arguments: [
      (FakeRelay.Step.reply("554 not you"), MailError.Kind.refused), (.reply("421 busy"), .temporary),
      (.close, .temporary),
      (.reply("HTTP/1.1 400 Bad Request\r\n"), .temporary), (.endless("220-x\r\n"), .temporary),
      (.endless("x"), .temporary), (.endless("\r\n"), .temporary), (.silence, .temporary),
    ]
  )
  func banners(banner: FakeRelay.Step, kind: MailError.Kind) async throws {
    var time = Duration.seconds(600)
    if case .silence = banner { time = .milliseconds(100) }
    if case .reply(let text) = banner, text.hasPrefix("HTTP") { time = .milliseconds(100) }
    if case .endless = banner { time = .seconds(2) }
    let error = try await send(to: try FakeRelay(banner: banner), within: time)
    #expect(error?.kind == kind, "\(String(describing: error))")
    #expect((error?.detail.utf8.count ?? 0) < 600)
  }

  @Test(
    "A relay that closes the connection at any command is temporary",
    arguments: ["EHLO", "MAIL", "RCPT", "DATA", "."]
  )
  func closes(word: String) async throws {
    let steps: [String: FakeRelay.Step] = word == "EHLO" ? ["EHLO": .close, "HELO": .close] : [word: .close]
    let error = try await send(to: try FakeRelay(steps))
    #expect(error?.kind == .temporary, "\(String(describing: error))")
  }

  @Test("A relay that hangs at any command times out", arguments: ["EHLO", "MAIL", "RCPT", "DATA", "."])
  func hangs(word: String) async throws {
    let start = ContinuousClock.now
    let error = try await send(to: try FakeRelay([word: .silence]), within: .milliseconds(300))
    #expect(error?.kind == .temporary, "\(String(describing: error))")
    #expect(ContinuousClock.now - start < .seconds(60))
  }

  @Test("A mail that the relay has accepted is sent, even if QUIT gets no reply")
  func hangsAtQuit() async throws {
    for step in [FakeRelay.Step.silence, .close, .reply("500 what"), .endless("221-x\r\n")] {
      let start = ContinuousClock.now
      #expect(try await send(to: try FakeRelay(["QUIT": step])) == nil)
      #expect(ContinuousClock.now - start < .seconds(60))
    }
  }

  @Test("A refused mail does not wait long for the reply to QUIT either")
  func refusedAndHangs() async throws {
    let start = ContinuousClock.now
    let relay = try FakeRelay(["RCPT": .reply("550 no"), "QUIT": .silence])
    #expect(try await send(to: relay)?.kind == .refused)
    #expect(ContinuousClock.now - start < .seconds(60))
  }

  @Test("Shutting down ends a mail whose relay hangs, also at the end of the message", arguments: ["MAIL", "."])
  func shutDown(word: String) async throws {
    let relay = try FakeRelay([word: .silence])
    let client = try patientClient(of: relay)
    async let served: Void = relay.serve()
    let task = Task {
      await #expect(throws: MailError.self) {
        try await client.send(Array(Self.message.utf8), from: "a@b.c", to: "d@e.f")
      }
    }
    await eventually { relay.lines.last?.hasPrefix(word) == true }
    await aside { client.shutDown() }
    #expect(await task.value?.kind == .cancelled)
    await served
  }

  @Test("Cancelling a task aborts its mail, also at the end of the message", arguments: ["MAIL", "."])
  func cancel(word: String) async throws {
    let relay = try FakeRelay([word: .silence])
    let client = try patientClient(of: relay)
    async let served: Void = relay.serve()
    let task = Task {
      await #expect(throws: MailError.self) {
        try await client.send(Array(Self.message.utf8), from: "a@b.c", to: "d@e.f")
      }
    }
    await eventually { relay.lines.last?.hasPrefix(word) == true }
    task.cancel()
    #expect(await task.value?.kind == .cancelled)
    await aside { client.shutDown() }
    await served
  }

  @Test("A relay without STARTTLS gets neither the password nor the mail if TLS is required")
  func noEncryption() async throws {
    let relay = try FakeRelay(["EHLO": .reply("250-fake\r\n250 AUTH PLAIN LOGIN")])
    let url = relay.url.replacing("smtp://", with: "smtp://ada:secret@") + "?tls=required"
    #expect(try await send(to: relay, url: url)?.kind == .encryption)
    #expect(relay.lines.filter { $0 != "EHLO example.com" && $0 != "QUIT" } == [])
  }

  @Test("A rejected login is an error without the password; a temporary one may be tried again")
  func logins() async throws {
    for (reply, kind) in [("535 5.7.8 no: AGFkYQBzZWNyZXQ=", MailError.Kind.login), ("454 later", .temporary)] {
      let relay = try FakeRelay(["EHLO": .reply("250-fake\r\n250 AUTH PLAIN"), "AUTH": .reply(reply)])
      let error = try await send(to: relay, url: relay.url.replacing("smtp://", with: "smtp://ada:secret@"))
      #expect(error?.kind == kind, "\(String(describing: error))")
      #expect(error.map { "\($0)".contains("secret") || "\($0)".contains("AGFk") } == false)
      #expect(!relay.lines.contains { $0.hasPrefix("MAIL") })
    }
  }

  @Test("An accepted login is percent-decoded")
  func login() async throws {
    // The base64 of a zero byte, the user, a zero byte and the password.
    let response = "AGFkYUB4AHM6w7w="
    let relay = try FakeRelay([
      "EHLO": .reply("250-fake\r\n250 AUTH PLAIN"), "AUTH": .reply("334 "), response.uppercased(): .reply("235 ok"),
    ])
    #expect(try await send(to: relay, url: relay.url.replacing("smtp://", with: "smtp://ada%40x:s%3A%C3%BC@")) == nil)
    #expect(relay.lines.prefix(3) == ["EHLO example.com", "AUTH PLAIN", response])
  }

  @Test("A relay that is not there is temporary")
  func unreachable() async throws {
    let server = try RawServer(listens: false)
    let client = try MailClient(MailClient.Configuration(relay: try MailRelay("smtp://127.0.0.1:\(server.port)")))
    let error = await #expect(throws: MailError.self) {
      try await client.send(Array(Self.message.utf8), from: "a@b.c", to: "d@e.f")
    }
    #expect(error?.kind == .temporary)
    await aside { client.shutDown() }
  }
}
