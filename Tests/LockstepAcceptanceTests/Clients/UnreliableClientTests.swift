import Foundation
import Glibc
import LockstepClient
import LockstepJSON
import LockstepTestSupport
import Synchronization
import Testing

extension RestartTests {
  /// Two devices of a user in a network that loses requests and responses, while backups are restored.
  /// `LOCKSTEP_CLIENT_ROUNDS` sets the number of rounds, and `LOCKSTEP_TEST_SEED` determines the writes.
  @Suite("Clients in an unreliable network", .timeLimit(.minutes(10 + clientRounds)))
  struct UnreliableClientTests {
    @Test(
      "They end with what the server has, and only a restored backup takes writes back",
      arguments: [Following.polls, .events]
    )
    func restores(following: Following) async throws {
      let seed = TestSeed.make(for: "Unreliable clients")
      let folder = try TemporaryDirectory()
      let server = RestartingServer(in: folder)
      try await server.start()
      var (writes, restores) = (0, 0)
      for round in 0..<max(1, clientRounds / 3) {
        var run = try await UnreliableRun(server, folder, following, round: round, seed: seed &+ UInt64(round))
        for step in 0..<60 { try await run.step(step) }
        try await run.end()
        writes += run.writes
        restores += run.restores
      }
      print("Unreliable clients, \(following): \(writes) writes, \(restores) restored backups")
      await server.end(SIGTERM)
    }
  }
}

private struct Photo: Codable, Identifiable, Equatable, Sendable {
  let id: String
  var title: String?
}

/// The faults of the clients, and the writes that the server has confirmed since the last restore.
private final class Witness: Sendable {
  private struct Contents: Sendable {
    var era = 0
    var confirmed: Set<String> = []
    var refusals: [String] = []
    /// For each device, how often a restore may still take writes back: with the reset, and with the first response
    /// after writes that the server has confirmed and then lost.
    var allowances = [0, 0]
    var faults: [String] = []
  }

  private let contents = Mutex(Contents())

  var era: Int { contents.withLock { $0.era } }
  var confirmed: Set<String> { contents.withLock { $0.confirmed } }
  var faults: [String] { contents.withLock { $0.faults } }

  func note(confirmed id: String, since era: Int) {
    contents.withLock { contents in
      if contents.era == era { contents.confirmed.insert(id) }
    }
  }

  func note(fault: String) { contents.withLock { $0.faults.append(fault) } }

  func noteRestore() {
    contents.withLock { contents in
      contents.era += 1
      contents.confirmed = []
      contents.allowances = contents.allowances.map { $0 + 2 }
    }
  }

  func note(lost ids: [String], by device: Int) {
    contents.withLock { contents in
      if contents.allowances[device] > 0 {
        contents.allowances[device] -= 1
      } else {
        contents.faults.append("device \(device): \(ids) vanished")
      }
    }
  }
}

/// A client that runs, and whose list is watched.
private struct RunningClient {
  let client: LockstepClient
  let photos: SyncedList<Photo>
  let settings: SyncedMap
  private let tasks: [Task<Void, Never>]

  init(_ client: LockstepClient, device: Int, _ witness: Witness) {
    let photos = client.list(of: Photo.self)
    (self.client, self.photos, settings) = (client, photos, client.defaults())
    tasks = [
      Task { await client.run() },
      Task {
        for await update in photos.updates {
          // Only these are never removed.
          let lost = update.changeset.deletions.map(\.id).filter { $0.hasPrefix("k") }
          if !lost.isEmpty { witness.note(lost: lost, by: device) }
        }
      },
    ]
  }

  func stop() async {
    for task in tasks { task.cancel() }
    for task in tasks { await task.value }
  }
}

private struct UnreliableRun {
  private let server: RestartingServer
  private let folder: TemporaryDirectory
  private let following: Following
  private let name: String
  private let network: UnreliableNetwork
  private let credentials = [MemoryCredentials(), MemoryCredentials()]
  private let witness = Witness()
  private var random: SeededNumbers
  private var devices: [RunningClient] = []
  private var backups = 0
  private var confirmations: [Task<Void, Never>] = []
  private(set) var (writes, restores) = (0, 0)

  init(
    _ server: RestartingServer,
    _ folder: TemporaryDirectory,
    _ following: Following,
    round: Int,
    seed: UInt64
  ) async throws {
    (self.server, self.folder, self.following) = (server, folder, following)
    name = "\(following)-\(round)"
    network = UnreliableNetwork(seed: seed &* 3)
    random = SeededNumbers(seed: seed)
    devices = [try open(0), try open(1)]
    let email = "\(name)@example.com"
    try await devices[0].client.signUp(email: email, password: "correct horse")
    try await devices[1].client.logIn(email: email, password: "correct horse")
    await untilLive()
    try await backUp()
    network.isReliable = false
  }

  private func open(_ device: Int) throws -> RunningClient {
    let url = try #require(URL(string: server.address))
    let client = try LockstepClient(
      store: .file(folder.file("\(name)-\(device).db")),
      transport: UnreliableTransport(network: network, base: URLSessionTransport(url)),
      credentials: credentials[device],
      following: following,
      clock: FastClock()
    )
    return RunningClient(client, device: device, witness)
  }

  private func untilLive() async {
    await eventually { devices.allSatisfy { $0.client.status.connection == .live && $0.client.status.pending == 0 } }
  }

  private mutating func backUp() async throws {
    try await server.backUp("\(name)-backup-\(backups)")
    backups += 1
  }

  mutating func step(_ step: Int) async throws {
    let device = random.below(2)
    let (client, photos, settings) = (devices[device].client, devices[device].photos, devices[device].settings)
    let (photo, index) = (Photo(id: "f\(random.below(4))", title: "\(step)"), random.below(4))
    writes += 1
    switch random.below(10) {
    case 0...2: try await addForGood("k\(step)", on: device)
    case 3: try await photos.toggle(photo)
    case 4: try await photos.move(photo.id, to: index)
    case 5: try await settings.increment("n\(device)")
    case 6:
      try await client.perform { transaction in
        try transaction.add(photo, in: photos)
        try transaction.set("t\(step)", "both", in: settings)
      }
    case 7 where random.once(in: 2): try await backUp()
    case 8 where random.once(in: 3): try await restore()
    case 8 where random.once(in: 2):
      await devices[device].stop()
      devices[device] = try open(device)
    default: try await Task.sleep(for: .milliseconds(random.below(40)))
    }
  }

  /// Adds an element that is never removed, and notes when the server has confirmed it.
  private mutating func addForGood(_ id: String, on device: Int) async throws {
    let (witness, era) = (witness, witness.era)
    let write = try await devices[device].photos.add(Photo(id: id))
    confirmations.append(
      Task {
        do {
          _ = try await write.confirmed
          witness.note(confirmed: id, since: era)
        } catch is CancellationError {
          // The client was opened again, and the next one sends the write.
        } catch {
          witness.note(fault: "\(id): \(error)")
        }
      }
    )
  }

  private mutating func restore() async throws {
    witness.noteRestore()
    try await server.restore("\(name)-backup-\(random.below(backups))")
    witness.noteRestore()
    restores += 1
  }

  mutating func end() async throws {
    network.isReliable = true
    await untilLive()
    let token = try #require(credentials[0].token())
    let items = try await server.json("/v1/favorites?limit=1000", token)["items"]?.arrayValue ?? []
    let values = try await server.json("/v1/defaults/standard", token)["values"]?.objectValue ?? [:]
    let expected = items.map { Photo(id: $0["id"]?.stringValue ?? "", title: $0["title"]?.stringValue) }
    for (device, running) in devices.enumerated() {
      await eventually {
        running.photos.elements == expected && running.settings.keys.sorted() == values.map(\.name).sorted()
          && ["n0", "n1"].allSatisfy { running.settings.value($0, as: Int.self) == values[$0]?.intValue }
      }
      let refused = running.client.refusedWrites
      #expect(
        refused.allSatisfy { $0.actions[0]["type"] == "move" && $0.failure.status == 404 },
        "\(device): \(refused)"
      )
    }
    let lost = witness.confirmed.subtracting(expected.map(\.id))
    #expect(lost.isEmpty && witness.faults.isEmpty, "\(name): lost \(lost), \(witness.faults)")
    for confirmation in confirmations { confirmation.cancel() }
    for running in devices { await running.stop() }
  }
}
