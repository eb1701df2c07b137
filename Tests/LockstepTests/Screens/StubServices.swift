import LockstepReactorTesting
import Synchronization

@testable import LockstepAccounts
@testable import LockstepCollections
@testable import LockstepScreens
@testable import LockstepTime

/// An upstream that takes its time, and fails as it's told.
final class StubUpstream: ProfileUpstream {
  private let clock: VirtualClock?
  private let state = Mutex((failures: [UpstreamError.Kind](), sent: [OutgoingProfile]()))

  /// Each sending takes two seconds of the clock; the first ones fail like this.
  init(_ clock: VirtualClock?, failing failures: [UpstreamError.Kind] = []) {
    self.clock = clock
    state.withLock { $0.failures = failures }
  }

  /// What it was sent, whether or not it has taken it.
  var sent: [String] {
    state.withLock { $0.sent.map { "\($0.companyName ?? "-"), \($0.position ?? "-")" } }
  }

  nonisolated(nonsending) func send(_ profile: OutgoingProfile) async throws(UpstreamError) {
    let failure = state.withLock { state in
      state.sent.append(profile)
      return state.failures.isEmpty ? nil : state.failures.removeFirst()
    }
    do { try await clock?.sleep(for: .seconds(2)) } catch { throw UpstreamError(.cancelled, detail: "") }
    if let failure { throw UpstreamError(failure, detail: "") }
  }
}

/// Accounts that take two seconds to let somebody in, or not.
final class StubLogIn: LogInService {
  private let clock: VirtualClock?
  private let state: Mutex<(results: [AccountsError?], attempts: [String])>

  init(_ clock: VirtualClock?, _ results: [AccountsError?]) {
    self.clock = clock
    state = Mutex((results, []))
  }

  /// Who tried, with what and from where.
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

  func logIn(_ credentials: Credentials) async throws(AccountsError) -> SignedIn {
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

/// Dates that say what they're asked for.
struct StubDates: DateTexts {
  func text(_ timestamp: Timestamp, language: String?, timeZone: String?) async -> String {
    "\(timestamp) \(language ?? "-") \(timeZone ?? "-")"
  }
}
