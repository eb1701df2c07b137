import LockstepClientTesting
import LockstepJSON
import LockstepReactorTesting
import LockstepTestSupport
import LockstepTime
import Synchronization
import Testing

@testable import LockstepClient

/// A network that may lose writes before they reach the server, with a proxy that may remove the field `Date`.
private final class Network: StreamingTransport {
  let server: FakeServer
  private let isLosing = Mutex(false)
  private let isHiding = Mutex(false)

  init(_ server: FakeServer) { self.server = server }

  var losesWrites: Bool {
    get { isLosing.withLock { $0 } }
    set { isLosing.withLock { $0 = newValue } }
  }

  var hidesDates: Bool {
    get { isHiding.withLock { $0 } }
    set { isHiding.withLock { $0 = newValue } }
  }

  func response(to request: ClientRequest) async throws -> ClientResponse {
    if losesWrites, request.method == "POST" { throw ClientFailure("The request was lost.") }
    return shown(try await server.response(to: request))
  }

  func stream(of request: ClientRequest) async throws -> ClientStream {
    let stream = try await server.stream(of: request)
    return ClientStream(response: shown(stream.response), parts: stream.parts)
  }

  private func shown(_ response: ClientResponse) -> ClientResponse {
    var response = response
    if hidesDates { response.fields["date"] = nil }
    return response
  }
}

/// How many milliseconds a clock is ahead of the server's.
private final class Lead: Sendable {
  private let milliseconds = Mutex<Int64>(0)

  var value: Int64 {
    get { milliseconds.withLock { $0 } }
    set { milliseconds.withLock { $0 = newValue } }
  }
}

/// An app on a device whose clock is not that of the server.
private final class Device {
  let clock = VirtualClock()
  let server: FakeServer
  let network: Network
  private let path: String
  private let following: Following
  private let lead = Lead()
  private var runs: UInt64 = 0
  private(set) var client: LockstepClient
  private var running: Task<Void, Never>?

  init(
    in folder: TemporaryDirectory,
    _ following: Following = .polls,
    ahead: Duration = .zero,
    hidesDates: Bool = false
  ) throws {
    server = FakeServer(clock: clock)
    network = Network(server)
    network.hidesDates = hidesDates
    (path, self.following) = (folder.file("client.db"), following)
    lead.value = ahead.milliseconds
    client = try Self.client(path, network, clock, lead, following, seed: 0)
    run()
  }

  /// The user or the network sets the clock.
  func setClock(ahead: Duration) { lead.value = ahead.milliseconds }

  private static func client(
    _ path: String,
    _ network: Network,
    _ clock: VirtualClock,
    _ lead: Lead,
    _ following: Following,
    seed: UInt64
  ) throws -> LockstepClient {
    let numbers = Mutex(SeededNumbers(seed: seed))
    let random: @Sendable () -> UInt64 = { numbers.withLock { $0.next() } }
    let wall = WallTime.of(clock)
    return try LockstepClient(
      store: ClientStore(path: path),
      modules: [],
      following: nil,
      SyncEngine.Environment(
        transport: network,
        following: following,
        credentials: MemoryCredentials("token"),
        clock: clock,
        now: { Timestamp(millisecondsSince1970: wall().millisecondsSince1970 + lead.value) },
        random: { Double(random() >> 11) / Double(1 << 53) },
        newKey: { String(random(), radix: 36) }
      )
    )
  }

  private func run() {
    running = clock.start { [client] in await client.run() }
    clock.advance(by: .milliseconds(20))
  }

  /// Ends the app, and starts it again after a while.
  func launch(after pause: Duration = .zero) throws {
    stop()
    clock.advance(by: pause)
    runs += 1
    client = try Self.client(path, network, clock, lead, following, seed: runs)
    run()
  }

  func stop() {
    running?.cancel()
    clock.advance(by: .milliseconds(20))
  }

  func increment(_ key: String) {
    clock.start { [client] in _ = try? await client.defaults().increment(key) }
    clock.advance(by: .milliseconds(5))
  }

  /// Loses the response to a write, and then the network.
  func incrementWithoutResponse(_ key: String) {
    server.loseNextResponse()
    increment(key)
    server.goOffline()
    clock.advance(by: .seconds(1))
  }

  /// Gets the network back, and sends all writes.
  func settle() {
    network.losesWrites = false
    server.goOnline()
    clock.advance(by: .seconds(300))
    #expect(client.status.pending == 0 && client.status.connection == .live)
  }

  func value(_ key: String) -> Int { server.json(of: "defaults/standard")[key]?.intValue ?? 0 }
}

@Suite("Writes without a response, and clocks that are wrong", .timeLimit(.minutes(10)))
struct DoubtTests {
  private let folder: TemporaryDirectory
  private static let days = Duration.seconds(86_400)

  init() throws { folder = try TemporaryDirectory() }

  @Test(
    "If the feed names the key of a write, the write is confirmed and not sent again, whatever the clocks say",
    arguments: [Following.polls, .events],
    [Duration.zero, days, days * 3, days * -3]
  )
  func named(following: Following, ahead: Duration) throws {
    let device = try Device(in: folder, following, ahead: ahead)
    device.incrementWithoutResponse("count")
    try device.launch()
    device.clock.advance(by: .seconds(25 * 3_600))
    device.setClock(ahead: .zero)
    let posts = device.server.requests.count { $0.method == "POST" }
    device.settle()
    #expect(device.value("count") == 1 && device.client.refusedWrites.isEmpty)
    #expect(device.client.defaults().value("count") == 1)
    #expect(device.server.requests.count { $0.method == "POST" } == posts)
    device.stop()
  }

  @Test(
    "If the server has forgotten the key of a write, the write is refused, and not applied twice",
    arguments: [Following.polls, .events],
    [Duration.zero, days, days * 3, days * -3]
  )
  func forgotten(following: Following, ahead: Duration) throws {
    let device = try Device(in: folder, following, ahead: ahead)
    device.incrementWithoutResponse("count")
    device.clock.advance(by: .seconds(25 * 3_600))
    device.setClock(ahead: .zero)
    device.server.forgetResponses()
    device.settle()
    #expect(device.value("count") == 1 && device.client.refusedWrites.count == 1)
    device.stop()
  }

  @Test(
    "Without a position, a write that the copy includes is sent again with its key, or refused",
    arguments: [1, 25]
  )
  func withoutPosition(hours: Int) throws {
    let clock = VirtualClock()
    let server = FakeServer(clock: clock)
    let now = WallTime.of(clock)()
    let action = ClientAction(module: "defaults", type: "set", payload: ["key": "theme", "value": "dark"])
    var entry = OutboxEntry(number: 1, key: "k", at: now, actions: [action])
    entry.sentAt = Timestamp(millisecondsSince1970: now.millisecondsSince1970 - Int64(hours) * 3_600_000)
    entry.isIncluded = true
    let sent = entry
    let path = folder.file("client.db")
    try ClientStore(path: path).update(at: now) { _ in StoreChange(writes: [1: sent]) }
    let credentials = MemoryCredentials("token")
    let client = try LockstepClient(store: .file(path), transport: server, credentials: credentials, clock: clock)
    #expect(client.status.pending == 1)
    clock.start {
      guard let response = try? await server.response(to: ClientRequest(target: "/v1/me")) else { return }
      await client.engine.noteTime(of: response)
      try? await client.engine.sendOnce(sent, in: 0)
    }
    clock.advance(by: .milliseconds(20))
    let keys = server.requests.filter { $0.method == "POST" }.compactMap { $0.fields["Idempotency-Key"] }
    #expect(keys == (hours == 1 ? ["k"] : []))
    #expect(client.refusedWrites.count == (hours == 1 ? 0 : 1))
    #expect(client.status.pending == 0)
  }

  @Test("The age of a key decides whether the server still knows it, and a time in the future means an unknown age")
  func ages() throws {
    let start = Timestamp(millisecondsSince1970: 1_800_000_000_000)
    func entry(sentAfter seconds: Int64) -> OutboxEntry {
      var entry = OutboxEntry(number: 1, key: "k", at: start, actions: [])
      entry.sentAt = Timestamp(millisecondsSince1970: start.millisecondsSince1970 + seconds * 1_000)
      return entry
    }
    #expect(entry(sentAfter: 301).doubt(at: start) == .hasNoKey)
    #expect(entry(sentAfter: 299).doubt(at: start) == .hasKey)
    #expect(entry(sentAfter: -23 * 3_600).doubt(at: start) == .hasKey)
    #expect(entry(sentAfter: -23 * 3_600 - 1).doubt(at: start) == .hasNoKey)
    // Without a time of the server, the age is unknown too.
    #expect(entry(sentAfter: 0).doubt(at: nil) == .hasNoKey)
    var unknown = entry(sentAfter: 0)
    unknown.sentAt = OutboxEntry.unknownTime
    #expect(unknown.doubt(at: OutboxEntry.unknownTime) == .hasNoKey)
    var old = entry(sentAfter: -90 * 86_400)
    old.isIncluded = true
    #expect(old.doubt(at: start) == .applied)
  }

  @Test(
    "Without a time of the server, a write in doubt counts as old, whatever the clock of the device says",
    arguments: [Following.polls, .events],
    [false, true]
  )
  func withoutDates(following: Following, isOnlyFirst: Bool) throws {
    let device = try Device(in: folder, following, hidesDates: true)
    device.incrementWithoutResponse("count")
    device.clock.advance(by: .seconds(25 * 3_600))
    // By the clock of the device, no time has passed.
    device.setClock(ahead: .seconds(-25 * 3_600))
    device.server.forgetResponses()
    device.network.hidesDates = !isOnlyFirst
    device.settle()
    #expect(device.value("count") == 1)
    #expect(device.client.refusedWrites.map(\.failure.title) == ["It is not certain whether this was done"])
    device.stop()
  }

  @Test("Without a time of the server, a write that was lost on its way is sent on the condition")
  func lostRequestWithoutDates() throws {
    let device = try Device(in: folder, hidesDates: true)
    device.increment("first")
    device.network.losesWrites = true
    device.increment("count")
    device.clock.advance(by: .seconds(1))
    device.settle()
    #expect(device.value("count") == 1 && device.client.refusedWrites.isEmpty)
    device.stop()
  }

  @Test("A write that was lost on its way is sent days later, unless what it names has changed meanwhile")
  func lostRequest() throws {
    let device = try Device(in: folder)
    device.increment("first")
    device.network.losesWrites = true
    device.increment("count")
    device.increment("changed")
    device.clock.advance(by: .seconds(1))
    device.network.losesWrites = false
    device.server.goOffline()
    device.clock.advance(by: .seconds(1))
    try device.launch()
    device.clock.advance(by: .seconds(5 * 86_400))
    for key in ["other", "changed"] {
      device.server.perform(["module": "defaults", "type": "set", "payload": ["key": .string(key), "value": 7]])
    }
    device.settle()
    #expect(device.value("count") == 1 && device.value("other") == 7)
    // This one was not sent before, so it needs no condition.
    #expect(device.value("changed") == 8 && device.client.refusedWrites.isEmpty)
    device.stop()
  }

  @Test("If what a write in doubt names has changed since, the write is refused")
  func changedSince() throws {
    let device = try Device(in: folder)
    device.network.losesWrites = true
    device.increment("count")
    device.server.goOffline()
    device.clock.advance(by: .seconds(5 * 86_400))
    device.server.perform(["module": "defaults", "type": "set", "payload": ["key": "count", "value": 7]])
    device.settle()
    #expect(device.value("count") == 7 && device.client.refusedWrites.count == 1)
    #expect(device.client.refusedWrites.first?.failure.status == nil)
    #expect(device.client.refusedWrites.first?.failure.title == "It is not certain whether this was done")
    // The file keeps the title.
    try device.launch()
    #expect(device.client.refusedWrites.first?.failure.title == "It is not certain whether this was done")
    device.stop()
  }

  @Test("After a reset, a write is sent again only if the server still knows its key", arguments: [1, 25])
  func reset(hours: Int) throws {
    let device = try Device(in: folder)
    device.increment("first")
    device.network.losesWrites = true
    device.increment("count")
    device.server.goOffline()
    device.clock.advance(by: .seconds(hours * 3_600))
    // The history since the cursor of the copy is another one.
    device.server.restoreOldBackup(without: 1)
    device.server.perform(["module": "defaults", "type": "set", "payload": ["key": "other", "value": 1]])
    device.settle()
    #expect(device.value("count") == (hours == 1 ? 1 : 0))
    #expect(device.client.refusedWrites.count == (hours == 1 ? 0 : 1))
    device.stop()
  }

  @Test("The server's time is that of a Date field plus the time since then, whatever the clock of the device shows")
  func serverTime() {
    let clock = VirtualClock()
    let time = ServerTime("Sun, 06 Nov 1994 08:49:37 GMT", on: clock)
    #expect(time?.now.description == "1994-11-06T08:49:37.000Z")
    clock.advance(by: .seconds(3_600))
    #expect(time?.now.description == "1994-11-06T09:49:37.000Z")
    for text in [
      "", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994", "Sun, 06 Nov 1994 08:49:37",
      "Sun, 99 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 25:49:37 GMT", "Sun, 06 nov 1994 08:49:37 GMT",
      "Sun, +6 Nov 1994 08:49:37 GMT",
    ] {
      #expect(ServerTime(text, on: clock) == nil, "\(text)")
    }
  }

  @Test("However clocks jump and apps and networks fail, no write is applied twice, and each is confirmed or refused")
  func clockJumps() throws {
    let first = TestSeed.make(for: "Clock jumps")
    for seed in first..<first + 4 {
      var numbers = SeededNumbers(seed: seed)
      let folder = try TemporaryDirectory()
      let device = try Device(in: folder, seed.isMultiple(of: 2) ? .polls : .events)
      var keys: [String] = []
      for step in 0..<100 {
        switch numbers.below(17) {
        case 0...4:
          keys.append("k\(step)")
          device.increment("k\(step)")
        case 5:
          keys.append("k\(step)")
          device.incrementWithoutResponse("k\(step)")
        case 6: device.server.goOffline()
        case 7, 8: device.server.goOnline()
        case 9: device.network.losesWrites.toggle()
        case 10: device.setClock(ahead: .seconds(numbers.below(20 * 86_400) - 10 * 86_400))
        case 11: try device.launch(after: .seconds(numbers.below(30 * 3_600)))
        case 12: device.clock.advance(by: .seconds(numbers.below(120)))
        case 13: try device.launch()
        case 16: device.network.hidesDates.toggle()
        case 14:
          device.server.perform(["module": "defaults", "type": "increment", "payload": ["key": "other", "by": 1]])
        default:
          // A day later, the server forgets the keys.
          device.server.goOffline()
          try device.launch(after: .seconds(25 * 3_600))
          device.server.forgetResponses()
        }
      }
      device.settle()
      let refused = device.client.refusedWrites.flatMap { $0.actions.compactMap { $0["payload"]?["key"]?.stringValue } }
      for key in keys {
        let value = device.value(key)
        #expect(value == 1 || value == 0 && refused.contains(key), "seed \(seed): \(key) is \(value)")
      }
      #expect(Set(refused).count == refused.count, "seed \(seed)")
      device.stop()
    }
  }
}
