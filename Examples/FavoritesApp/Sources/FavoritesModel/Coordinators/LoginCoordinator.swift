import LockstepClient
import LockstepReactor
import Observation

/// Logs a user in, or signs a user up. Ends when the user has a session, or cancels.
@MainActor
@Observable
public final class LoginCoordinator: Coordinator {
  /// How a login ends.
  public enum Outcome: Sendable {
    case loggedIn
    case cancelled
  }

  /// Whether a request is under way.
  public private(set) var isBusy = false
  /// Why the last request failed, in a sentence for users.
  public private(set) var failure: String?
  @ObservationIgnored private let client: LockstepClient
  @ObservationIgnored private let outcome = Latest<Outcome?>(nil)

  init(_ client: LockstepClient) { self.client = client }

  /// Waits for the user.
  public func start() async -> Outcome {
    for await outcome in outcome.values {
      if let outcome { return outcome }
    }
    return .cancelled
  }

  /// Logs in.
  public func logIn(email: String, password: String) async {
    await enter { try await client.logIn(email: email, password: password) }
  }

  /// Signs up.
  public func signUp(email: String, password: String) async {
    await enter { try await client.signUp(email: email, password: password) }
  }

  /// Ends the flow without a session.
  public func cancel() { outcome.publish(.cancelled) }

  private func enter(_ body: () async throws -> Void) async {
    (isBusy, failure) = (true, nil)
    do {
      try await body()
      outcome.publish(.loggedIn)
    } catch {
      failure = error.sentence
    }
    isBusy = false
  }
}
