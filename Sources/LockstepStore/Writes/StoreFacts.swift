import LockstepCollections
import LockstepTime

/// The facts that a decision may need and that memory may not have: the store as the earlier
/// transactions have left it.
package enum StoreFacts {
  /// SQLite: each fact is read when it is needed.
  case sqlite(StoreConnection)
  /// PostgreSQL: the facts were read while the user was locked.
  case locked(LockedFacts, ModuleTables)

  /// The user's latest state, made from the latest one in memory. Other nodes may have changed it. Throws
  /// `StaleStateError` if the state in memory must be loaded again.
  package func latest(_ state: UserState) throws -> UserState {
    switch self {
    case .sqlite: state
    case .locked(let facts, let tables): try facts.tail.latest(state, by: tables)
    }
  }

  /// The recorded response to a key of the user. Throws `IdempotencyKeyReusedError` if the key
  /// belongs to another request.
  package func response(to key: IdempotencyKey, of user: UserID, at now: Timestamp) throws -> StoredResponse? {
    switch self {
    case .sqlite(let connection):
      try IdempotencyRecords(connection: connection).response(to: key, of: .user(user), at: now)
    case .locked(let facts, _): try facts.response(to: key, at: now)
    }
  }

  package func hasUser(_ user: UserID) throws -> Bool {
    switch self {
    case .sqlite(let connection): try UserRecords(connection: connection).has(user)
    case .locked(let facts, _): facts.head != nil
    }
  }

  package func hasSession(_ session: SessionID, of user: UserID) throws -> Bool {
    switch self {
    case .sqlite(let connection): try SessionRecords(connection: connection).has(session, of: user)
    case .locked(let facts, _): facts.has(session)
    }
  }

  /// Whether a service token exists that the subject of the transaction names.
  package func hasServiceToken(_ id: String) throws -> Bool {
    switch self {
    case .sqlite(let connection): try ServiceTokenRecords(connection: connection).hold(id)
    case .locked(let facts, _): facts.has(serviceToken: id)
    }
  }

  /// Whether other nodes may write too. Then each decision must ask `hasSession`, because they may have
  /// ended the session.
  package var isLocked: Bool {
    switch self {
    case .sqlite: false
    case .locked: true
    }
  }
}
