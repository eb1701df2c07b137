import Testing

@testable import LockstepAccounts
@testable import LockstepCollections
@testable import LockstepStateTestSupport

@Suite("The limiter of login attempts", .timeLimit(.minutes(10)))
struct AttemptLimiterTests {
  private static let limits: AttemptLimits = {
    var limits = AttemptLimits()
    limits.perNetwork = RateLimit(requests: 1, seconds: 10, burst: 5)
    limits.perAccount = RateLimit(requests: 1, seconds: 60, burst: 3)
    limits.perKnownNetwork = RateLimit(requests: 1, seconds: 30, burst: 4)
    limits.perSession = RateLimit(requests: 1, seconds: 60, burst: 2)
    return limits
  }()

  private let clock = StoreClock()
  private let limiter: AttemptLimiter
  private let home = ClientNetwork(host: "192.0.2.1")
  private let office = ClientNetwork(host: "192.0.2.2")
  private let abroad = ClientNetwork(host: "2001:db8::1")

  init() {
    limiter = AttemptLimiter(Self.limits, elapsed: clock.time.elapsed)
  }

  /// Returns how many attempts may fail in sequence, and the seconds to wait after them.
  private func failures(_ attempt: () throws(AccountsError) -> AttemptLimiter.Attempt) -> (Int, retryAfter: Int) {
    for count in 0..<100 {
      do throws(AccountsError) {
        _ = try attempt()
      } catch {
        guard case .tooManyAttempts(let seconds) = error else { break }
        return (count, seconds)
      }
    }
    return (-1, 0)
  }

  @Test("Failures for one account are limited, from any network")
  func account() throws {
    _ = try limiter.logIn(account: "ann", from: home)
    _ = try limiter.logIn(account: "ann", from: office)
    #expect(failures { () throws(AccountsError) in try limiter.logIn(account: "ann", from: abroad) } == (1, 60))
    #expect(throws: AccountsError.tooManyAttempts(retryAfter: 60)) { try limiter.logIn(account: "ann", from: home) }
    _ = try limiter.logIn(account: "ben", from: home)
  }

  @Test("Accounts are distinguished by the bytes of their addresses, as in the store")
  func equivalentAccounts() throws {
    for account in ["jos\u{E9}@example.com", "jose\u{301}@example.com"] {
      let count = failures { () throws(AccountsError) in try limiter.logIn(account: account, from: home) }.0
      #expect(count == (account.unicodeScalars.contains("\u{E9}") ? 3 : 2), "the network's limit is 5")
    }
  }

  @Test("Failures from one network are limited, for any account")
  func network() throws {
    for account in ["a", "b", "c", "d", "e"] { _ = try limiter.logIn(account: account, from: home) }
    #expect(throws: AccountsError.tooManyAttempts(retryAfter: 10)) { try limiter.logIn(account: "f", from: home) }
    _ = try limiter.logIn(account: "f", from: office)
  }

  @Test(
    "A client that tries any addresses does not lock known users out of its network, whose failures are limited too"
  )
  func networkOfKnownUsers() throws {
    let known = ["ann", "ben", "cid"]
    for account in known { limiter.succeeded(try limiter.logIn(account: account, from: home)) }
    for number in 1...5 { _ = try limiter.logIn(account: "\(number)", from: home) }
    #expect(throws: AccountsError.tooManyAttempts(retryAfter: 10)) { try limiter.logIn(account: "dan", from: home) }
    for account in known { limiter.succeeded(try limiter.logIn(account: account, from: home)) }
    for account in ["ann", "ann", "ann", "ben", "ben"] { _ = try limiter.logIn(account: account, from: home) }
    #expect(throws: AccountsError.tooManyAttempts(retryAfter: 10)) { try limiter.logIn(account: "cid", from: home) }
  }

  @Test("After the announced wait, one more attempt is allowed")
  func waiting() throws {
    #expect(failures { () throws(AccountsError) in try limiter.logIn(account: "ann", from: home) } == (3, 60))
    clock.advance(by: .milliseconds(500))
    #expect(throws: AccountsError.tooManyAttempts(retryAfter: 60), "59.5 seconds are rounded up") {
      try limiter.logIn(account: "ann", from: home)
    }
    clock.advance(by: .milliseconds(59_500))
    #expect(failures { () throws(AccountsError) in try limiter.logIn(account: "ann", from: home) } == (1, 60))
  }

  @Test("Refused attempts do not count as failures")
  func refusedIsFree() throws {
    for _ in 0..<3 { _ = try limiter.logIn(account: "ann", from: home) }
    for _ in 0..<50 { #expect(throws: AccountsError.self) { try limiter.logIn(account: "ann", from: home) } }
    clock.advance(by: .seconds(60))
    _ = try limiter.logIn(account: "ann", from: home)
    _ = try limiter.logIn(account: "ben", from: home)
  }

  @Test("Correct passwords do not count as failures")
  func successes() throws {
    for _ in 0..<100 { limiter.succeeded(try limiter.logIn(account: "ann", from: home)) }
    for _ in 0..<100 { limiter.succeeded(try limiter.confirm(in: session(1))) }
  }

  @Test("Running attempts count, so that many at once cannot exceed the limit")
  func concurrent() async {
    let allowed = await withTaskGroup(of: Int.self) { group in
      for _ in 0..<50 {
        group.addTask { [limiter, abroad] in (try? limiter.logIn(account: "ann", from: abroad)) == nil ? 0 : 1 }
      }
      return await group.reduce(0, +)
    }
    #expect(allowed == 3)
  }

  @Test("Failures in other networks do not lock an owner out of a known network")
  func owner() throws {
    limiter.succeeded(try limiter.logIn(account: "ann", from: home))
    #expect(failures { () throws(AccountsError) in try limiter.logIn(account: "ann", from: abroad) }.0 == 3)
    limiter.succeeded(try limiter.logIn(account: "ann", from: home))
    #expect(throws: AccountsError.self, "other networks stay locked out") {
      try limiter.logIn(account: "ann", from: office)
    }
  }

  @Test("Wrong passwords are also limited in a known network, and a login does not reset their count")
  func failuresAtHome() throws {
    limiter.succeeded(try limiter.logIn(account: "ann", from: home))
    for _ in 0..<3 { _ = try limiter.logIn(account: "ann", from: home) }
    limiter.succeeded(try limiter.logIn(account: "ann", from: home))
    #expect(failures { () throws(AccountsError) in try limiter.logIn(account: "ann", from: home) } == (1, 30))
  }

  @Test("A network that is known for one account is not known for another")
  func knownForOne() throws {
    limiter.succeeded(try limiter.logIn(account: "ann", from: home))
    #expect(failures { () throws(AccountsError) in try limiter.logIn(account: "ben", from: home) }.0 == 3)
  }

  @Test("The network of a sign-up is known for the account, and sign-ups are not limited by default")
  func signUps() throws {
    for number in 0..<100 { limiter.succeeded(try limiter.signUp(account: "\(number)", from: home)) }
    #expect(failures { () throws(AccountsError) in try limiter.logIn(account: "7", from: home) }.0 == 4)
  }

  @Test("Sign-ups can be limited by network, and abandoned ones do not count")
  func limitedSignUps() throws {
    var limits = Self.limits
    limits.signUpsPerNetwork = RateLimit(requests: 1, seconds: 3_600, burst: 2)
    let limiter = AttemptLimiter(limits, elapsed: clock.time.elapsed)
    for _ in 0..<10 { limiter.abandoned(try limiter.signUp(account: "x", from: home)) }
    limiter.succeeded(try limiter.signUp(account: "a", from: home))
    limiter.succeeded(try limiter.signUp(account: "b", from: home))
    #expect(throws: AccountsError.tooManyAttempts(retryAfter: 3_600)) { try limiter.signUp(account: "c", from: home) }
    limiter.succeeded(try limiter.signUp(account: "c", from: office))
  }

  @Test("Abandoned attempts do not count")
  func abandoned() throws {
    for _ in 0..<100 { limiter.abandoned(try limiter.logIn(account: "ann", from: home)) }
    #expect(failures { () throws(AccountsError) in try limiter.logIn(account: "ann", from: home) }.0 == 3)
  }

  @Test("Failures within a session do not count for other sessions or logins")
  func sessions() throws {
    #expect(failures { () throws(AccountsError) in try limiter.confirm(in: session(1)) } == (2, 60))
    limiter.succeeded(try limiter.confirm(in: session(2)))
    limiter.succeeded(try limiter.logIn(account: "ann", from: home))
  }

  private func session(_ number: UInt64) -> SessionID {
    SessionID(UUIDv7(milliseconds: 0, random12: 0, random62: number))
  }
}
