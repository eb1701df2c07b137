import LockstepCollections
import LockstepStore

/// Limits attempts with passwords and mails: in memory, or in the database that several servers
/// share.
///
/// `AttemptLimiter` describes the limits.
struct PasswordLimiter: Sendable {
  typealias Attempt = AttemptLimiter.Attempt

  private let memory: AttemptLimiter
  /// Nil if the store has one server.
  private let shared: SharedAttempts?

  /// `memory` always counts the metrics of this server.
  init(_ memory: AttemptLimiter, shared: SharedAttempts?) {
    (self.memory, self.shared) = (memory, shared)
  }

  /// `account` is the result of `addressKey(of:)`, which bounds its length.
  func logIn(account: String, from network: ClientNetwork) async throws(AccountsError) -> Attempt {
    guard let shared else { return try memory.logIn(account: account, from: network) }
    return try await noting { () async throws(AccountsError) in try await shared.logIn(account: account, from: network)
    }
  }

  func confirm(in session: SessionID) async throws(AccountsError) -> Attempt {
    guard let shared else { return try memory.confirm(in: session) }
    return try await noting { () async throws(AccountsError) in try await shared.confirm(in: session) }
  }

  func signUp(account: String, from network: ClientNetwork) async throws(AccountsError) -> Attempt {
    guard let shared else { return try memory.signUp(account: account, from: network) }
    return try await noting { () async throws(AccountsError) in
      try await shared.signUp(account: account, from: network)
    }
  }

  /// Counts a mail that a client asks for, or that goes to an address.
  func countMail(_ uses: [AttemptLimiter.Use]) async throws(AccountsError) {
    guard let shared else { return try memory.countMail(uses) }
    try await shared.countMail(uses)
  }

  /// Gives the attempt back, unless it is a sign-up. Records the network as known for the account.
  func succeeded(_ attempt: Attempt) async {
    guard let shared else { return memory.succeeded(attempt) }
    await shared.succeeded(attempt)
  }

  func failed(_ attempt: Attempt) { memory.failed(attempt) }

  /// Gives the attempt back, because the password was not verified.
  func abandoned(_ attempt: Attempt) async {
    guard let shared else { return memory.abandoned(attempt) }
    await shared.abandoned(attempt)
  }

  private func noting(
    _ count: () async throws(AccountsError) -> Attempt
  ) async throws(AccountsError) -> Attempt {
    do throws(AccountsError) {
      return try await count()
    } catch {
      if case .tooManyAttempts = error { memory.refused() }
      throw error
    }
  }
}
