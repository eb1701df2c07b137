import Synchronization

/// Where a client keeps the token of its session.
public protocol ClientCredentials: Sendable {
  /// The token; nil before the first login and after a logout.
  func token() async throws -> String?
  /// Keeps the token of a new session, or removes the token if it is nil, after a logout.
  func save(_ token: String?) async throws
}

/// Keeps the token in memory, for tests and previews, or for a token that the app stores itself. After a restart, the
/// user must log in again.
public final class MemoryCredentials: ClientCredentials {
  private let kept: Mutex<String?>

  /// Credentials with a token; nil before a login.
  public init(_ token: String? = nil) {
    kept = Mutex(token)
  }

  /// The token.
  public func token() -> String? { kept.withLock { $0 } }

  /// Keeps the token until the process ends.
  public func save(_ token: String?) { kept.withLock { $0 = token } }
}
