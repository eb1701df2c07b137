import LockstepJSON
import LockstepTestSupport
import LockstepThreading
import Testing

@testable import LockstepAccounts
@testable import LockstepCollections
@testable import LockstepStateTestSupport
@testable import LockstepStore

@Suite("The shares of networks in the hashing of passwords", .timeLimit(.minutes(10)))
struct HashingShareTests {
  private static let capacity = 64
  private static let attacker = "198.51.100.7"

  private let pool: HashingPool
  /// Stops the pool's threads.
  private let gate = ThreadGate()
  /// How many tasks `start` has started, and how many of them run or were refused.
  private let started = LockedState(0)
  private let running = LockedState(0)
  private let refused = LockedState(0)

  init() throws { pool = try HashingPool(threads: 2, capacity: Self.capacity) }

  /// Accounts whose hashes the pool computes. `users` sign up, and may log in from their network.
  private func accounts(_ users: [String]) async throws -> AccountsFixture {
    gate.open()
    let fixture = try await AccountsFixture(hasher: StubHasher(on: (pool, gate)))
    for user in users { try await fixture.signUp(user) }
    gate.shut()
    return fixture
  }

  /// Starts work that stops at the gate. Returns when all of it runs, waits or is refused.
  private func start(_ count: Int, for owner: HashingOwner) async -> [Task<AccountsError?, Never>] {
    var tasks: [Task<AccountsError?, Never>] = []
    for _ in 0..<count {
      tasks.append(
        Task {
          let error = await AccountsError.caught {
            try await AccountsError.converting {
              try await pool.run(for: owner) {
                running.withLock { $0 += 1 }
                gate.pass()
              }
            }
          }
          if error != nil { refused.withLock { $0 += 1 } }
          return error
        }
      )
      let started = started.withLock { started in
        started += 1
        return started
      }
      // Work leaves the queue when it begins to run. The queue is counted last, so no work is counted twice.
      await eventually { running.withLock { $0 } + refused.withLock { $0 } + pool.waiting == started }
    }
    return tasks
  }

  private static func outcomes(of tasks: [Task<AccountsError?, Never>]) async -> [AccountsError?] {
    var outcomes: [AccountsError?] = []
    for task in tasks { outcomes.append(await task.value) }
    return outcomes
  }

  @Test("While 100 connections of one network sign up or change credentials, all logins from another network succeed")
  func flood() async throws {
    let users = (1...10).map { "user\($0)@example.com" }
    let fixture = try await accounts(users)
    let anonymous = try await fixture.accounts.commit(
      fixture.accounts.prepareSignUp(ClientDevice(device: nil, network: ClientNetwork(host: Self.attacker)))
    )
    let session = try #require(try await fixture.live(anonymous))
    let answered = LockedState(0)
    let attacks = (1...100).map { number in
      Task {
        defer { answered.withLock { $0 += 1 } }
        return await AccountsError.caught {
          let email = "attacker\(number)@example.com"
          guard number.isMultiple(of: 2) else { return _ = try await fixture.signUp(email, from: Self.attacker) }
          _ = try await fixture.accounts.prepareCredentials(
            email: email,
            Password("a good password"),
            in: session,
            from: ClientNetwork(host: Self.attacker)
          ) { _ in }
        }
      }
    }
    let owner = HashingOwner.change(ClientNetwork(host: Self.attacker))
    await eventually {
      pool.waiting(of: owner) == Self.capacity && answered.withLock { $0 } == 100 - 2 - Self.capacity
    }
    let logins = users.map { user in
      Task { await AccountsError.caught { try await fixture.logIn(user, from: "192.0.2.2") } }
    }
    await eventually { pool.waiting == Self.capacity + users.count }
    gate.open()
    #expect(await Self.outcomes(of: logins).allSatisfy { $0 == nil })
    let refused = await Self.outcomes(of: attacks).filter { $0 != nil }
    #expect(refused == Array(repeating: .overloaded, count: 100 - 2 - Self.capacity))
  }

  @Test("A client that signs up again and again does not keep others of its network from logging in")
  func office() async throws {
    let fixture = try await accounts(["ann@example.com", "ben@example.com"])
    let owner = HashingOwner.change(.test)
    let attacks = await start(100, for: owner)
    let logins = ["ann@example.com", "ben@example.com"].map { user in
      Task { await AccountsError.caught { try await fixture.logIn(user) } }
    }
    await eventually { pool.waiting == Self.capacity + logins.count }
    gate.open()
    #expect(await Self.outcomes(of: logins) == [nil, nil])
    _ = await Self.outcomes(of: attacks)
  }

  @Test("Changes from many networks leave places for logins, and unknown logins leave places for known ones")
  func places() async throws {
    func network(_ number: Int) -> ClientNetwork { ClientNetwork(host: "2001:db8:0:\(number)::1") }
    var tasks = await start(2, for: .change(network(0)))
    await eventually { running.withLock { $0 } == 2 }
    for number in 1...16 { tasks += await start(2, for: .change(network(number))) }
    #expect(pool.waiting == Self.capacity / 2)
    // Without the refusal, this work would wait. So its outcome is read when the gate is open.
    var excess = await start(1, for: .change(network(17)))
    #expect(refused.withLock { $0 } == 1)
    for number in 1...8 { tasks += await start(2, for: .login(network(number), isKnown: false)) }
    #expect(pool.waiting == Self.capacity * 3 / 4)
    excess += await start(1, for: .login(network(9), isKnown: false))
    #expect(refused.withLock { $0 } == 2)
    for number in 1...7 { tasks += await start(2, for: .login(network(number), isKnown: true)) }
    tasks += await start(2, for: .administrator)
    #expect(pool.waiting == Self.capacity)
    gate.open()
    #expect(await Self.outcomes(of: tasks).allSatisfy { $0 == nil })
    #expect(await Self.outcomes(of: excess) == [.overloaded, .overloaded])
  }

  @Test("A change whose precondition is false computes no hash, and does not count as an attempt")
  func preconditions() async throws {
    let fixture = try await AccountsFixture { $0.attempts.perSession = RateLimit(requests: 1, seconds: 60, burst: 1) }
    let accounts = fixture.accounts
    let ann = try #require(try await fixture.live(try await fixture.signUp("ann@example.com")))
    let anonymous = try await accounts.commit(accounts.prepareSignUp(ClientDevice(device: nil, network: .test)))
    let guest = try #require(try await fixture.live(anonymous))
    _ = fixture.hasher.takeComputations()
    let (right, new) = (Password("a good password"), Password("a better password"))
    let changed: @Sendable (StoreConnection) throws -> Void = { _ in throw AccountsError.changed(current: [:], tag: "t")
    }
    let changes: [() async throws -> Void] = [
      { _ = try await accounts.prepareCredentials(email: "x@example.com", new, in: guest, from: .test, if: changed) },
      { _ = try await accounts.prepareChangePassword(from: right, to: new, in: ann, from: .test, if: changed) },
      { _ = try await accounts.prepareErase(confirmedBy: right, in: ann, from: .test, if: changed) },
      {
        var change = StoredAccounts.AccountChange()
        change.password = new
        _ = try await accounts.prepareChange(of: ann.user, change, if: changed)
      },
    ]
    for change in changes { #expect(await AccountsError.caught(change) == .changed(current: [:], tag: "t")) }
    #expect(fixture.hasher.takeComputations().isEmpty)
    let wrong = Password("a wrong password")
    let guess = { _ = try await accounts.prepareErase(confirmedBy: wrong, in: ann, from: .test) { _ in } }
    #expect(await AccountsError.caught(guess) == .wrongPassword)
    #expect(await AccountsError.caught(guess) == .tooManyAttempts(retryAfter: 60))
    _ = fixture.hasher.takeComputations()
    // If these counted as attempts while they run, they would be too many.
    for change in changes { #expect(await AccountsError.caught(change) == .changed(current: [:], tag: "t")) }
    #expect(fixture.hasher.takeComputations().isEmpty)
  }

  @Test("Logins to known accounts run before work that waited earlier, however many networks it came from")
  func precedence() async throws {
    func network(_ number: Int) -> ClientNetwork { ClientNetwork(host: "2001:db8:0:\(number)::1") }
    let pool = try HashingPool(threads: 1, capacity: Self.capacity)
    let order = LockedState<[String]>([])
    var tasks: [Task<Void, any Error>] = []
    func start(_ name: String, for owner: HashingOwner) async {
      let count = pool.waiting + order.withLock { $0.count }
      tasks.append(
        Task {
          try await pool.run(for: owner) {
            order.withLock { $0.append(name) }
            gate.pass()
          }
        }
      )
      await eventually { pool.waiting + order.withLock { $0.count } == count + 1 }
    }
    await start("first", for: .change(network(0)))
    await eventually { order.withLock { $0 } == ["first"] }
    for number in 1...3 { await start("unknown", for: .login(network(number), isKnown: false)) }
    for number in 1...3 { await start("change", for: .change(network(number))) }
    await start("known", for: .login(network(9), isKnown: true))
    await start("administrator", for: .administrator)
    gate.open()
    for task in tasks { try await task.value }
    #expect(order.withLock { $0 }.prefix(4) == ["first", "known", "administrator", "unknown"])
    pool.shutDown()
  }
}
