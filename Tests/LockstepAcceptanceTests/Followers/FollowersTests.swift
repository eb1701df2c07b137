import Foundation
import Glibc
import LockstepJSON
import LockstepTestSupport
import Testing

extension RestartTests {
  /// Clients follow a user's state while the server is restarted and killed. Each time, every copy
  /// must equal the user's state. `LOCKSTEP_FOLLOWER_ROUNDS` sets the number of rounds, and
  /// `LOCKSTEP_TEST_SEED` determines all random choices. scripts/followers sets both.
  @Suite(
    "Clients that follow a state through restarts and lost connections",
    .timeLimit(.minutes(10 + followerRounds))
  )
  struct FollowersTests {
    private static let users = 2
    private static let followersOfEach = 5

    @Test("Each has exactly the server's state once it has caught up: no change twice, none missed, no needless reset")
    func follow() async throws {
      let rounds = followerRounds
      let seed = TestSeed.make(for: "Followers")
      var random = SeededNumbers(seed: seed)
      let server = FollowedServer(folder: try TemporaryDirectory())
      var (process, port) = try await server.start(threads: 1)
      var tokens: [String] = []
      for user in 0..<Self.users { tokens.append(try await FollowedServer.signUp("user\(user)", at: port)) }
      var writer = FollowedWriter(seed: seed)
      var followers = (0..<(Self.users * Self.followersOfEach)).map { number in
        Follower(number: number, token: tokens[number % Self.users], server: server, seed: seed &+ UInt64(number))
      }
      for round in 1...rounds {
        let writes = 40 + random.below(160)
        let isKilled = random.once(in: 2)
        try await withThrowingTaskGroup(of: Follower.self) { group in
          for follower in followers {
            let port = port
            group.addTask {
              var follower = follower
              try await follower.follow(at: port)
              return follower
            }
          }
          if isKilled {
            try await Self.write(&writer, tokens, writes, at: port, server, killing: process, after: random.below(500))
          } else {
            try await Self.write(&writer, tokens, writes, at: port, server)
            try await Self.finish(&writer, tokens, followers, at: port, server)
            await server.drain(process)
          }
          for try await follower in group { followers[follower.number] = follower }
        }
        (process, port) = try await server.start(threads: 1 + random.below(2))
        for place in followers.indices { try await followers[place].catchUp(at: port) }
        if round % 25 == 0 { print("Followers: \(round) rounds, \(server.counts)") }
      }
      await server.kill(process)
      print("Followers: \(rounds) rounds, \(server.counts)")
    }

    private static func write(
      _ writer: inout FollowedWriter,
      _ tokens: [String],
      _ count: Int,
      at port: Int,
      _ server: FollowedServer
    ) async throws {
      let client = try RawClient(port: port)
      for _ in 0..<count { try await write(writer.next(of: tokens), over: client, server) }
    }

    /// Writes, and kills the server a moment after the last of these writes, while more are being
    /// sent.
    private static func write(
      _ writer: inout FollowedWriter,
      _ tokens: [String],
      _ count: Int,
      at port: Int,
      _ server: FollowedServer,
      killing process: LockstepProcess,
      after delay: Int
    ) async throws {
      let client = try RawClient(port: port)
      for _ in 0..<count { try await write(writer.next(of: tokens), over: client, server) }
      // These responses are not awaited, so that the server can be killed at any point of its work.
      for _ in 0..<20 { try await client.send(writer.next(of: tokens)) }
      for _ in 0..<delay { sched_yield() }
      await server.kill(process)
    }

    /// Makes one last write to every collection of every user. It wakes all waiters, and each must
    /// reach its cursor before the server ends.
    private static func finish(
      _ writer: inout FollowedWriter,
      _ tokens: [String],
      _ followers: [Follower],
      at port: Int,
      _ server: FollowedServer
    ) async throws {
      let client = try RawClient(port: port)
      var last: [String: String] = [:]
      for token in tokens {
        last[token] = try await write(writer.everything(of: token), over: client, server).field("Cursor")
      }
      await eventually { followers.allSatisfy { server.hasReached(last[$0.token] ?? "", $0.number) } }
    }

    @discardableResult
    private static func write(_ request: String, over client: RawClient, _ server: FollowedServer) async throws
      -> RawResponse
    {
      try await client.send(request)
      let response = try await client.response()
      // A refused write changes nothing.
      let isRefused = [404, 409, 422].contains(response.status)
      try #require(
        (200...204).contains(response.status) || isRefused,
        "\(request): \(response.status) \(response.text)"
      )
      server.count {
        $0.writes += 1
        if isRefused { $0.refusals += 1 }
      }
      return response
    }
  }
}
