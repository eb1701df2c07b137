import Foundation
import Glibc
import LockstepJSON
import LockstepTestSupport
import Testing

extension RestartTests {
  /// Kills apps and their server again and again while they write and follow. `LOCKSTEP_CLIENT_ROUNDS` sets the number
  /// of rounds, and `LOCKSTEP_TEST_SEED` determines the commands. `scripts/faults swift-client` sets both.
  @Suite("Apps of a user that are killed in the middle of their work", .timeLimit(.minutes(10 + clientRounds)))
  struct KilledClientTests {
    @Test("They lose nothing that has returned, apply nothing twice, and end with what the server has")
    func kills() async throws {
      var run = try await KilledClients(seed: TestSeed.make(for: "Killed clients"))
      for round in 1...clientRounds {
        try await run.round()
        if round % 25 == 0 { print("Killed clients: \(round) rounds, \(run.summary)") }
      }
      try await run.end()
      print("Killed clients: \(clientRounds) rounds, \(run.summary)")
    }
  }
}

/// Four apps of a user: one polls, one has an event stream, and two share a file.
private struct KilledClients {
  private struct Device {
    let store: String
    let options: [String]
    var log: DeviceLog
    var process: FavoritesProcess
    /// How many answers of the process `log` knows.
    var known = 0
  }

  private static let most = 20
  private let folder: TemporaryDirectory
  private let server: RestartingServer
  private var random: SeededNumbers
  private var devices: [Device] = []
  private let token: String
  private var starts = 0
  private var (returned, clientKills, serverKills) = (0, 0, 0)

  var summary: String {
    "\(returned) writes returned, \(clientKills) kills of apps, \(serverKills) of the server"
  }

  init(seed: UInt64) async throws {
    folder = try TemporaryDirectory()
    server = RestartingServer(in: folder)
    random = SeededNumbers(seed: seed)
    try await server.start()
    let places = [("polls", []), ("events", ["--events"]), ("shared", []), ("shared", ["--events"])]
    for (number, (store, options)) in places.enumerated() {
      starts += 1
      let name = "app-\(starts)"
      let process = try FavoritesProcess(server.address, store: store, in: folder, name: name, options: options)
      if number < 3 { try await process.perform("\(number == 0 ? "signup" : "login") ada@example.com correct horse") }
      devices.append(Device(store: store, options: options, log: DeviceLog(prefix: "d\(number)-"), process: process))
      devices[number].known = process.sent
    }
    token = String(decoding: try folder.contents(of: "polls/token"), as: UTF8.self)
  }

  mutating func round() async throws {
    let target = returned + 1 + random.below(60)
    while returned < target {
      try write()
      try await Task.sleep(for: .milliseconds(1))
    }
    Self.passTime(random.below(3_000))
    var victims = devices.indices.filter { _ in random.once(in: 3) }
    let killsServer = victims.isEmpty || random.once(in: 3)
    victims.shuffle(using: &random)
    if killsServer { await server.end(SIGKILL) }
    serverKills += killsServer ? 1 : 0
    for victim in victims {
      repeat {
        try await restart(victim)
        try write()
        try await Task.sleep(for: .milliseconds(random.below(30)))
      } while random.below(3) > 0
    }
    if killsServer {
      // Apps write while there is no server.
      for _ in 0..<random.below(5) { try write() }
      try await server.start()
    }
    if random.once(in: 2) { try await expectLockstep() }
  }

  /// Sends commands to all apps, and notes which have returned.
  private mutating func write() throws {
    for index in devices.indices {
      noteReturned(index)
      let process = devices[index].process
      while process.sent - process.answers.count < Self.most {
        try process.send(devices[index].log.next(&random))
      }
    }
  }

  private mutating func noteReturned(_ index: Int) {
    let count = devices[index].process.read() - devices[index].known
    devices[index].log.noteReturned(count)
    devices[index].known += count
    returned += count
  }

  /// Kills an app, and starts it again.
  private mutating func restart(_ index: Int) async throws {
    await devices[index].process.kill()
    noteReturned(index)
    clientKills += 1
    starts += 1
    let device = devices[index]
    let process = try FavoritesProcess(
      server.address,
      store: device.store,
      in: folder,
      name: "app-\(starts)",
      options: device.options
    )
    devices[index].process = process
    let found = device.log.part(of: try await process.perform("list"))
    devices[index].known = process.sent
    let isPossible = devices[index].log.settle(found)
    #expect(isPossible, "\(device.log) has become \(found)")
  }

  /// Waits until all is sent, and compares all apps with the server.
  private mutating func expectLockstep() async throws {
    for index in devices.indices {
      try await devices[index].process.returned()
      noteReturned(index)
      try await devices[index].process.perform("wait")
      devices[index].known += 1
    }
    let items = try await server.json("/v1/favorites?limit=1000", token)["items"]?.arrayValue ?? []
    let values = try await server.json("/v1/defaults/standard", token)["values"] ?? [:]
    let expected = items.enumerated().map { index, item in
      let (id, title) = (item["id"]?.stringValue ?? "", item["title"]?.stringValue ?? "")
      return "\(index) \(id) \(values["opened.\(id)"]?.intValue ?? 0) \(title)"
    }
    for index in devices.indices {
      let (log, process) = (devices[index].log, devices[index].process)
      #expect(log.part(of: expected) == log.certain, "\(log)")
      try await eventually { try await process.perform("list") == expected + ["ok"] }
      devices[index].known = process.sent
      #expect(try await process.perform("status").contains { $0.hasSuffix(" 0 waiting, 0 refused") })
      devices[index].known = process.sent
    }
  }

  mutating func end() async throws {
    try await expectLockstep()
    for device in devices { try await device.process.quit() }
    await server.end(SIGTERM)
  }

  private static func passTime(_ microseconds: Int) {
    let end = ContinuousClock.now + .microseconds(microseconds)
    while ContinuousClock.now < end {}
  }
}
