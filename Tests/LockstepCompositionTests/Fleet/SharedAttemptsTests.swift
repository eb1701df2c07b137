import LockstepPostgreSQL
import LockstepTestSupport
import Synchronization
import Testing

@testable import LockstepComposition
@testable import LockstepAccounts
@testable import LockstepCollections
@testable import LockstepMiddleware
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport
@testable import LockstepStore

@Suite(
  "Attempts with passwords through several servers",
  .enabled("LOCKSTEP_TEST_POSTGRESQL names no PostgreSQL server") { TestedStore.anyServer != nil },
  .timeLimit(.minutes(5))
)
struct SharedAttemptsTests {
  private static let password = ServerFixture.password

  /// Runs `body` with servers whose limits do not recover while the test runs.
  private static func serve(
    nodes: Int = 2,
    changing change: @escaping (Int, inout Configuration) -> Void = { _, _ in },
    _ body: ([ServerFixture], TestDatabase) async throws -> Void
  ) async throws {
    try await TestDatabase.serve(nodes: nodes) { index, configuration in
      let limit = RateLimit(requests: 1, seconds: 86_400, burst: 5)
      configuration.accounts.attempts.perAccount = limit
      configuration.accounts.attempts.perKnownNetwork = limit
      configuration.accounts.attempts.perSession = limit
      configuration.accounts.attempts.perNetwork = RateLimit(requests: 1, seconds: 86_400, burst: 12)
      configuration.trustedProxies = ["127.0.0.1"].compactMap { IPNetwork($0) }
      change(index, &configuration)
    } _: {
      try await body($0, $1)
    }
  }

  private static func logIn(
    _ server: ServerFixture,
    _ password: String,
    name: String = "ada",
    from client: String = "192.0.2.1"
  ) async throws -> RawResponse {
    let body = #"{"email":"\#(name)@example.com","password":"\#(password)"}"#
    return try await server.post("/v1/sessions", body, ["X-Forwarded-For: \(client)"])
  }

  @Test("Wrong passwords through servers in turns are refused after exactly the limit")
  func inTurns() async throws {
    try await Self.serve(nodes: 3) { servers, _ in
      _ = try await servers[0].signUp()
      for number in 0..<5 {
        let response = try await Self.logIn(servers[number % 3], "wrong \(number)", from: "192.0.2.\(number)")
        #expect(response.status == 401)
      }
      for server in servers {
        let refused = try await Self.logIn(server, Self.password, from: "192.0.2.9")
        #expect(refused.status == 429)
        let wait = try #require(refused.field("Retry-After").flatMap { Int($0) })
        #expect((1...86_400).contains(wait))
      }
      // For another account, and for all accounts from one network.
      for number in 0..<12 {
        let response = try await Self.logIn(servers[number % 3], "wrong", name: "x\(number)", from: "198.51.100.1")
        #expect(response.status == 401)
      }
      for server in servers {
        #expect(try await Self.logIn(server, "wrong", name: "y", from: "198.51.100.1").status == 429)
      }
    }
  }

  @Test("Wrong passwords through two servers at once are refused after exactly the limit")
  func atOnce() async throws {
    try await Self.serve { servers, database in
      _ = try await servers[0].signUp()
      let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
        for number in 0..<40 {
          // Four networks, and one account: each attempt uses two limits, which other attempts use too.
          group.addTask {
            try await Self.logIn(servers[number % 2], "wrong", from: "192.0.2.\(number / 2 % 4)").status
          }
        }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      #expect(statuses.count { $0 == 401 } == 5)
      #expect(statuses.count { $0 == 429 } == 35)
    }
  }

  @Test("Attempts that use two limits in any order never stop each other, and each limit is exact")
  func manyLimits() async throws {
    try await Self.serve {
      $1.accounts.attempts.perNetwork = RateLimit(requests: 1, seconds: 86_400, burst: 9)
    } _: { servers, _ in
      let responses = try await withThrowingTaskGroup(of: (network: Int, account: Int, status: Int).self) { group in
        for number in 0..<120 {
          let (network, account) = (number % 3, number / 3 % 5)
          group.addTask {
            let server = servers[number / 7 % 2]
            return (
              network, account,
              try await Self.logIn(server, "wrong", name: "x\(account)", from: "192.0.2.\(network)").status
            )
          }
        }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      #expect(responses.allSatisfy { $0.status == 401 || $0.status == 429 })
      let counted = responses.filter { $0.status == 401 }
      for account in 0..<5 { #expect(counted.count { $0.account == account } <= 5) }
      for network in 0..<3 { #expect(counted.count { $0.network == network } <= 9) }
      // An attempt that one limit refuses does not use the other one. So the networks' limits, which are
      // together above those of the accounts, are used up, or all accounts' are.
      let isUsedUp = (0..<3).allSatisfy { network in counted.count { $0.network == network } == 9 }
      let areUsedUp = (0..<5).allSatisfy { account in counted.count { $0.account == account } == 5 }
      #expect(isUsedUp || areUsedUp)
    }
  }

  @Test("A right password gives its attempt back on all servers")
  func givenBack() async throws {
    try await Self.serve { servers, database in
      let device = try await servers[0].signUp()
      for number in 0..<20 {
        let response = try await Self.logIn(servers[number % 2], Self.password, from: "192.0.2.\(number % 3)")
        #expect(response.status == 201)
      }
      // Only the networks of recent logins are left.
      #expect(try database.count("SELECT count(*) FROM attempts") == 4)
      for number in 0..<5 {
        #expect(try await Self.logIn(servers[number % 2], "wrong").status == 401)
        if number < 4 { #expect(try await Self.logIn(servers[number % 2], Self.password).status == 201) }
      }
      for server in servers { #expect(try await Self.logIn(server, Self.password).status == 429) }
      for number in 0..<5 {
        let device = device.at(servers[number % 2])
        #expect(try await device.ask("DELETE", "/v1/me", #"{"password":"wrong"}"#).status == 403)
      }
      for server in servers {
        let refused = try await device.at(server).ask("DELETE", "/v1/me", #"{"password":"\#(Self.password)"}"#)
        #expect(refused.status == 429)
      }
    }
  }

  @Test("An attacker at one server does not block the owner's known network at another one")
  func knownNetwork() async throws {
    try await Self.serve { servers, _ in
      _ = try await servers[0].signUp()
      #expect(try await Self.logIn(servers[0], Self.password, from: "192.0.2.1").status == 201)
      for number in 0..<9 {
        let response = try await Self.logIn(servers[1], "wrong", from: "198.51.100.\(number)")
        #expect(response.status == (number < 5 ? 401 : 429))
      }
      for server in servers {
        #expect(try await Self.logIn(server, Self.password, from: "192.0.2.1").status == 201)
        #expect(try await Self.logIn(server, Self.password, from: "203.0.113.1").status == 429)
      }
    }
  }

  @Test("A client that tries any addresses does not lock known users out of its network, on any server")
  func networkOfKnownUsers() async throws {
    try await Self.serve {
      $1.accounts.attempts.perNetwork = RateLimit(requests: 1, seconds: 86_400, burst: 3)
    } _: { servers, _ in
      _ = try await servers[0].signUp()
      for server in servers { #expect(try await Self.logIn(server, Self.password, from: "192.0.2.1").status == 201) }
      for (number, status) in [401, 401, 401, 429, 429].enumerated() {
        #expect(try await Self.logIn(servers[0], "wrong", name: "x\(number)", from: "192.0.2.1").status == status)
      }
      for server in servers { #expect(try await Self.logIn(server, Self.password, from: "192.0.2.1").status == 201) }
    }
  }

  @Test("A server that refuses a network's unknown logins asks the database whether a login is known")
  func loginOfAnotherServer() async throws {
    try await Self.serve {
      $1.accounts.attempts.perNetwork = RateLimit(requests: 1, seconds: 86_400, burst: 3)
    } _: { servers, _ in
      _ = try await servers[0].signUp()
      #expect(try await Self.logIn(servers[0], Self.password, from: "192.0.2.1").status == 201)
      for (number, status) in [401, 401, 401, 429].enumerated() {
        #expect(try await Self.logIn(servers[1], "wrong", name: "x\(number)", from: "192.0.2.1").status == status)
      }
      // The second server has not seen this login, and its time stands still, so it remembers the refusal.
      #expect(try await Self.logIn(servers[1], Self.password, from: "192.0.2.1").status == 201)
      #expect(try await Self.logIn(servers[1], "wrong", name: "y", from: "192.0.2.1").status == 429)
    }
  }

  @Test("Sign-ups are limited for all servers together, and their networks are known")
  func signUps() async throws {
    try await Self.serve {
      $1.accounts.attempts.signUpsPerNetwork = RateLimit(requests: 1, seconds: 86_400, burst: 3)
    } _: { servers, _ in
      for (number, status) in [201, 201, 201, 429, 429].enumerated() {
        let body = #"{"email":"x\#(number)@example.com","password":"\#(Self.password)"}"#
        let response = try await servers[number % 2].post("/v1/users", body, ["X-Forwarded-For: 192.0.2.1"])
        #expect(response.status == status)
      }
      for number in 0..<6 {
        _ = try await Self.logIn(servers[0], "wrong", name: "x0", from: "198.51.100.\(number)")
      }
      #expect(try await Self.logIn(servers[1], Self.password, name: "x0", from: "192.0.2.1").status == 201)
    }
  }

  @Test("The time of the database counts, and a server repeats a refusal for a second without asking it")
  func time() async throws {
    try await Self.serve {
      // An hour apart.
      if $0 == 1 { $1.accounts.attempts.perNetwork = RateLimit(requests: 1, seconds: 86_400, burst: 50) }
    } _: { servers, database in
      servers[1].time.advance(by: 3_600)
      for number in 0..<5 { #expect(try await Self.logIn(servers[0], "wrong \(number)").status == 401) }
      for server in servers { #expect(try await Self.logIn(server, "wrong").status == 429) }
      // As if a day had passed for the database alone.
      try database.execute("UPDATE attempts SET until = until - 86400 * 1000000000::bigint")
      for server in servers {
        #expect(try await Self.logIn(server, "wrong").status == 429)
        server.time.advance(by: 1)
      }
      #expect(try await Self.logIn(servers[0], "wrong").status == 401)
      #expect(try await Self.logIn(servers[1], "wrong").status == 429)
    }
  }

  @Test("If the clock of the database was set back, a limit recovers in the same time as before")
  func clockSetBack() async throws {
    try await Self.serve { servers, database in
      for number in 0..<3 { #expect(try await Self.logIn(servers[0], "wrong \(number)").status == 401) }
      try database.execute("UPDATE attempts SET until = until + 100 * 86400 * 1000000000::bigint")
      let refused = try await Self.logIn(servers[1], "wrong")
      #expect(refused.status == 429)
      #expect(try #require(refused.field("Retry-After").flatMap { Int($0) }) <= 86_400)
    }
  }

  /// Runs the upkeep of a server. It does nothing while that of another test's server runs.
  private static func upkeep(_ database: TestDatabase) async throws {
    let outcome = Mutex<Result<Void, any Error>>(.success(()))
    await aside {
      let result = Result {
        let session = try PostgreSQLConnector(database.connectionString).connect(.feed)
        defer { session.connection.close() }
        _ = try session.transaction { try NodeUpkeep.run(in: .postgreSQL(session), at: 0) }
      }
      outcome.withLock { $0 = result }
    }
    try outcome.withLock { $0 }.get()
  }

  @Test("Rows that limit nothing any more are deleted, and rows have hashes instead of addresses")
  func upkeep() async throws {
    try await Self.serve { servers, database in
      for number in 0..<4 { _ = try await Self.logIn(servers[0], "wrong", name: "x\(number)") }
      try await Self.upkeep(database)
      #expect(try database.count("SELECT count(*) FROM attempts") == 5)
      #expect(try database.count("SELECT count(*) FROM attempts WHERE length(key) = 16") == 5)
      // The network has 4 attempts, and each account 1.
      for (days, rows) in [(1, 1), (3, 0)] {
        try database.execute("UPDATE attempts SET until = until - \(days) * 86400 * 1000000000::bigint")
        try await eventually {
          try await Self.upkeep(database)
          return try database.count("SELECT count(*) FROM attempts") == rows
        }
      }
    }
  }

  @Test("Upkeep does not wait for attempts")
  func upkeepBeside() async throws {
    try await Self.serve(nodes: 1) { servers, database in
      for number in 0..<4 { _ = try await Self.logIn(servers[0], "wrong", name: "x\(number)") }
      let attempt = try PostgreSQLConnection(database.connectionString)
      defer { attempt.close() }
      // This lock allows the update and no deletion. It comes first, because the server has an upkeep of
      // its own, which may run as soon as the rows limit nothing any more.
      try attempt.execute("BEGIN; SELECT key FROM attempts ORDER BY key LIMIT 2 FOR KEY SHARE")
      try database.execute("UPDATE attempts SET until = 1")
      try await eventually {
        try await Self.upkeep(database)
        return try database.count("SELECT count(*) FROM attempts") == 2
      }
      try attempt.execute("COMMIT")
    }
  }

  @Test("Without the database no password is accepted and no attempt is lost")
  func cutOff() async throws {
    let road = try DatabaseRoad(to: try #require(TestedStore.anyServer))
    try await Self.serve { index, configuration in
      if index == 1 { configuration.store = configuration.store.map { road.string(for: $0) } }
    } _: { servers, database in
      _ = try await servers[0].signUp()
      for number in 0..<4 { #expect(try await Self.logIn(servers[1], "wrong \(number)").status == 401) }
      servers[1].repeatsRefusals.withLock { $0 = false }
      try road.cut(database)
      for password in ["wrong", Self.password] {
        #expect(try await Self.logIn(servers[1], password).status == 503)
      }
      #expect(try await Self.logIn(servers[0], "wrong").status == 401)
      #expect(try await Self.logIn(servers[0], "wrong").status == 429)
      road.open()
      // The lease may end after the first refusal, before the feed has connected again.
      var statuses: Set<Int> = []
      try await eventually {
        let status = try await Self.logIn(servers[1], Self.password).status
        statuses.insert(status)
        return status == 429
      }
      #expect(statuses.isSubset(of: [429, 503]))
    }
  }
}
