import Foundation
import Glibc
import LockstepJSON
import LockstepSQLite
import Synchronization
import LockstepTestSupport
import Testing

extension RestartTests {
  /// Kills the server again and again while devices write, and checks each time that no
  /// acknowledged write is lost. `LOCKSTEP_CRASH_ROUNDS` sets the number of rounds, and
  /// `LOCKSTEP_TEST_SEED` determines the writes. scripts/crash-test sets both.
  @Suite("A server that is killed in the middle of its work", .timeLimit(.minutes(10 + crashRounds)))
  struct CrashTests {
    private static let users = 3
    private static let devicesOfEach = 3

    @Test("It has every acknowledged write, none twice, and repeats its responses to repeated requests")
    func crashes() async throws {
      let rounds = crashRounds
      let seed = TestSeed.make(for: "Crashes")
      var random = SeededNumbers(seed: seed)
      let folder = try TemporaryDirectory()
      let store = CrashStore(folder: folder)
      var clients = try await Self.clients(of: store, seed: seed)
      var total = 0
      for round in 1...rounds {
        let threshold = 1 + random.below(40 * clients.count)
        let (killed, acknowledged) = try await store.round(clients, threshold: threshold, delay: random.below(2000))
        clients = killed
        total += acknowledged
        // In some rounds, a server is also killed while it opens the store of the killed one.
        if random.once(in: 4) { try await store.killWhileStarting(after: random.below(20_000)) }
        let (process, port) = try await store.start()
        for place in clients.indices { try await clients[place].check(at: port) }
        for user in 0..<Self.users { try await clients[user * Self.devicesOfEach].checkRebuilt(at: port) }
        try store.expectSound()
        process.send(SIGKILL)
        #expect(await process.ended() == .signal(SIGKILL))
        if round % 25 == 0 { print("Crashes: \(round) rounds, \(total) writes acknowledged") }
      }
      print("Crashes: \(rounds) rounds, \(total) writes acknowledged, slowest start \(store.slowestStart)")
    }

    private static func clients(of store: CrashStore, seed: UInt64) async throws -> [CrashClient] {
      let (process, port) = try await store.start()
      var clients: [CrashClient] = []
      for user in 0..<users {
        let client = try RawClient(port: port)
        let body = #"{"email":"\#(user)@example.com","password":"a good password"}"#
        try await client.send("POST /v1/users HTTP/1.1\r\nHost: h\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
        let token = try #require(try JSON(parsing: try await client.response().body)["token"]?.stringValue)
        for device in 0..<devicesOfEach {
          let number = UInt64(user * devicesOfEach + device)
          clients.append(CrashClient(prefix: "d\(number)-", token: token, seed: seed &+ number))
        }
      }
      process.send(SIGKILL)
      #expect(await process.ended() == .signal(SIGKILL))
      return clients
    }
  }
}

/// The store that outlives its servers.
private final class CrashStore: Sendable {
  private let folder: TemporaryDirectory
  private let slowest = Mutex(Duration.zero)
  private let starts = Count()

  init(folder: TemporaryDirectory) {
    self.folder = folder
  }

  /// The longest time from a server's start until it listened. It is only printed, because it
  /// depends on the machine.
  var slowestStart: Duration { slowest.withLock { $0 } }

  func start() async throws -> (process: LockstepProcess, port: Int) {
    let clock = ContinuousClock()
    let begin = clock.now
    starts.add()
    // Each server gets its own output files, so that the printed port is that of the last server.
    let started = try await LockstepProcess.serving(["--log-level", "error"], in: folder, name: "run-\(starts.value)")
    slowest.withLock { $0 = max($0, clock.now - begin) }
    return started
  }

  /// Lets all devices write. Kills the server once it has acknowledged `threshold` writes and a
  /// moment has passed. Returns the devices and the number of acknowledged writes.
  func round(
    _ clients: [CrashClient],
    threshold: Int,
    delay: Int
  ) async throws -> (clients: [CrashClient], acknowledged: Int) {
    let (process, port) = try await start()
    let acknowledged = Count()
    var killed = clients
    try await withThrowingTaskGroup(of: (Int, CrashClient).self) { group in
      for (place, client) in clients.enumerated() {
        group.addTask {
          var client = client
          try await client.write(to: port) { acknowledged.add() }
          return (place, client)
        }
      }
      await eventually { acknowledged.value >= threshold }
      Self.passTime(delay)
      process.send(SIGKILL)
      for try await (place, client) in group { killed[place] = client }
    }
    #expect(await process.ended() == .signal(SIGKILL))
    return (killed, acknowledged.value)
  }

  func killWhileStarting(after delay: Int) async throws {
    let process = try LockstepProcess(
      ["serve", "--port", "0", "--data", folder.file("lockstep.db")],
      in: folder,
      name: "short"
    )
    Self.passTime(delay)
    process.send(SIGKILL)
    #expect(await process.ended() == .signal(SIGKILL))
  }

  /// Checks that the file is intact and that no user's revisions have a gap.
  func expectSound() throws {
    let connection = try SQLiteConnection(path: folder.file("lockstep.db"), access: .readOnly)
    let faults = try connection.all("PRAGMA integrity_check") { row in try row[0] as String }
    #expect(faults == ["ok"])
    #expect(try connection.all("PRAGMA foreign_key_check") { row in try row[0] as String } == [])
    let gaps = try connection.all(
      """
      SELECT user_id FROM journal GROUP BY user_id
      HAVING min(revision >> 20) <> 1 OR max(revision >> 20) <> count(DISTINCT revision)
      UNION ALL
      SELECT user_id FROM journal GROUP BY user_id, revision HAVING max(position) + 1 <> count(*)
      """
    ) { row in try row[0] as String }
    #expect(gaps == [])
  }

  /// Waits for a while that depends on the machine, so that the kill comes at any point of the
  /// server's work. The checks must hold at every point.
  private static func passTime(_ turns: Int) {
    for _ in 0..<turns { sched_yield() }
  }
}

private final class Count: Sendable {
  private let count = Atomic(0)

  var value: Int { count.load(ordering: .relaxed) }
  func add() { count.add(1, ordering: .relaxed) }
}
