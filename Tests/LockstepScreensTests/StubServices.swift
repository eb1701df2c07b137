import LockstepReactor
import LockstepReactorTesting
import Synchronization

@testable import LockstepAccounts
@testable import LockstepBuiltInScreens
@testable import LockstepCollections
@testable import LockstepScreens
@testable import LockstepServerTestSupport
@testable import LockstepTime

/// An upstream that takes two seconds for a profile, and fails if a test says so.
final class StubUpstream: ProfileUpstream {
  private let clock: VirtualClock?
  let reachability = Reachability()
  private let state = Mutex(
    (failures: [UpstreamError.Kind](), sent: [OutgoingProfile](), accepted: AcceptedProfile())
  )

  /// Sending takes two seconds of the clock. The first requests fail with these errors.
  init(_ clock: VirtualClock?, failing failures: [UpstreamError.Kind] = []) {
    self.clock = clock
    state.withLock { $0.failures = failures }
  }

  /// The profiles that were sent, whether or not they were accepted.
  var sent: [String] {
    state.withLock { $0.sent.map { "\($0.companyName ?? "-"), \($0.position ?? "-")" } }
  }

  /// The idempotency keys of the profiles that were sent.
  var keys: [String] { state.withLock { $0.sent.map(\.idempotencyKey) } }

  /// From now on, the upstream responds with this profile.
  func respond(_ accepted: AcceptedProfile) { state.withLock { $0.accepted = accepted } }

  nonisolated(nonsending) func send(_ profile: OutgoingProfile) async throws(UpstreamError) -> AcceptedProfile {
    let failure = state.withLock { state in
      state.sent.append(profile)
      return state.failures.isEmpty ? nil : state.failures.removeFirst()
    }
    do { try await clock?.sleep(for: .seconds(2)) } catch { throw UpstreamError(.cancelled, detail: "") }
    if let failure { throw UpstreamError(failure, detail: "") }
    return state.withLock { $0.accepted }
  }
}

/// A login service that takes two seconds to accept or refuse.
final class StubLogIn: LogInService {
  private let clock: VirtualClock?
  private let state: Mutex<(results: [LogInError?], attempts: [String])>

  init(_ clock: VirtualClock?, _ results: [LogInError?]) {
    self.clock = clock
    state = Mutex((results, []))
  }

  /// The attempts, each with its address, password and network.
  var attempts: [String] { state.withLock { $0.attempts } }

  static let user = User(
    id: LiveSession.stub().user,
    email: "ada@example.com",
    createdAt: Timestamp(millisecondsSince1970: 0)
  )
  static let signedIn = SignedIn(
    user: user,
    session: Session(
      id: LiveSession.stub().id,
      device: nil,
      createdAt: user.createdAt,
      lastSeenAt: user.createdAt,
      expiresAt: user.createdAt
    ),
    token: Token(secret: .zero, tag: .zero)
  )

  func logIn(_ credentials: Credentials) async throws(LogInError) -> SignedIn {
    let password = credentials.password.withBytes { String(decoding: $0.map(UInt8.init(bitPattern:)), as: UTF8.self) }
    let error = state.withLock { state in
      state.attempts.append("\(credentials.email) \(password) \(credentials.network)")
      return state.results.removeFirst()
    }
    try? await clock?.sleep(for: .seconds(2))
    if let error { throw error }
    return Self.signedIn
  }
}

extension ScreenValidators {
  /// The rules of a server on which the password of a user may have `shortest` characters or more. Reading
  /// that takes a second.
  static func stub(
    _ clock: VirtualClock? = nil,
    rules: PasswordRules = PasswordRules(),
    shortest: @escaping @Sendable () throws -> Int = { 1 }
  ) -> ScreenValidators {
    ScreenValidators(rules) {
      try await clock?.sleep(for: .seconds(1))
      return try shortest()
    }
  }
}

/// Texts of dates that repeat their arguments.
struct StubDates: DateTexts {
  func text(_ timestamp: Timestamp, languages: [String], timeZone: String?) async -> String {
    "\(timestamp) \(DateLanguage.best(languages) ?? "-") \(timeZone ?? "-")"
  }
}
