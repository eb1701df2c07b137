import LockstepCollections
import LockstepStore
import LockstepTime
import Synchronization

/// A service token in memory. All requests with the token share this object, and so learn of its
/// end.
package final class LiveServiceToken: Sendable {
  package let token: ServiceToken
  let hash: TokenHash
  /// The id of the sessions in which the token acts for users. No user's session has it.
  let sessionID: SessionID
  private let now: @Sendable () -> Timestamp
  private let deleted = Atomic(false)

  init(_ token: ServiceToken, hash: TokenHash, now: @escaping @Sendable () -> Timestamp) {
    self.token = token
    self.hash = hash
    self.now = now
    sessionID = SessionID(token.id) ?? SessionID(UUIDv7(milliseconds: 0, random12: 0, random62: 0))
  }

  package var id: String { token.id }
  package var name: String { token.name }

  package func allows(_ scope: ServiceScope) -> Bool { token.scopes.contains(.admin) || token.scopes.contains(scope) }

  /// Whether the token was deleted or has expired. A request that waits must check this after it has
  /// registered its waiter.
  package var isEnded: Bool {
    deleted.load(ordering: .acquiring) || token.expiresAt.map { $0 <= now() } ?? false
  }

  /// The id of the token in the store; nil for the administrator token, which is not there.
  package var storedID: String? { id == ServiceTokens.administratorName ? nil : id }

  /// Throws `ServiceTokenEndedError` if another node has deleted the token. If not, the token stays until the
  /// transaction has ended.
  package func expectStored(in connection: StoreConnection) throws {
    guard let storedID, try !ServiceTokenRecords(connection: connection).hold(storedID) else { return }
    throw noteDeletion()
  }

  /// Call this when the store has no such token. Returns the error for the request.
  package func noteDeletion() -> ServiceTokenEndedError {
    delete()
    return ServiceTokenEndedError()
  }

  func delete() { deleted.store(true, ordering: .releasing) }
}

/// The service token of a request was deleted. Nothing was changed.
package struct ServiceTokenEndedError: Error {}
