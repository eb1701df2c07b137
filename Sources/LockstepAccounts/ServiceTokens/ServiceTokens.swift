import LockstepCollections
import LockstepStore
import LockstepThreading
import LockstepTime

/// The service tokens of a store. All of them are in memory, because there are few.
package final class ServiceTokens: Sendable {
  /// The most tokens of a store.
  package static let most = 1_000
  /// The name under which the administrator token acts.
  package static let administratorName = "administrator"

  /// A token that is not in memory yet.
  package struct Created: Sendable {
    package let token: ServiceToken
    fileprivate let secret: Token

    /// The text that the client must keep. The store has only its hash.
    package var text: String { secret.serviceText }
  }

  private let tokens: LockedState<[TokenHash: LiveServiceToken]>
  private let ids: UUIDv7Generator
  private let tokenIssuer: TokenIssuer
  private let now: @Sendable () -> Timestamp
  private let listeners = LockedState<[@Sendable () -> Void]>([])
  /// The administrator token, which the operator has set.
  package let administrator: LiveServiceToken

  /// `stored` are all tokens of the store.
  package init(
    _ accounts: StoredAccounts,
    _ stored: [(token: ServiceToken, hash: TokenHash)],
    now: @escaping @Sendable () -> Timestamp
  ) {
    let administrator = ServiceToken(
      id: Self.administratorName,
      name: Self.administratorName,
      scopes: [.admin],
      createdAt: Timestamp(millisecondsSince1970: 0),
      expiresAt: nil
    )
    self.administrator = LiveServiceToken(administrator, hash: TokenHash(words: .zero), now: now)
    let live = stored.map { ($0.hash, LiveServiceToken($0.token, hash: $0.hash, now: now)) }
    tokens = LockedState(Dictionary(live) { first, _ in first })
    self.now = now
    (ids, tokenIssuer) = (accounts.ids, accounts.tokenIssuer)
  }

  /// The token with this text; nil if there is none, or if it has expired.
  package func token(_ text: Slice<UnsafeRawBufferPointer>) -> LiveServiceToken? {
    guard let secret = Token(service: UnsafeRawBufferPointer(rebasing: text)) else { return nil }
    let hash = secret.hash
    guard let found = tokens.withLock({ $0[hash] }), !found.isEnded else { return nil }
    return found
  }

  /// All tokens that have not expired, oldest first.
  package var all: [ServiceToken] {
    tokens.withLock { $0.values.filter { !$0.isEnded }.map(\.token) }.sorted { $0.id < $1.id }
  }

  package func token(id: String) -> ServiceToken? { all.first { $0.id == id } }

  /// Prepares a new token. After the commit, call `add(_:)`. Throws `tooManyTokens`, and
  /// `tokenNameTaken` for the name of the administrator token. The write throws `tokenNameTaken` if
  /// another token has the name.
  package func prepareCreation(
    name: String,
    scopes: Set<ServiceScope>,
    lifetimeSeconds: Int64?
  ) throws(AccountsError) -> PreparedAccountsWrite<Created> {
    guard !ServiceToken.areAlike(name, Self.administratorName) else { throw .tokenNameTaken }
    guard all.count < Self.most else { throw .tooManyTokens }
    let (secret, now) = (tokenIssuer.make(), now())
    let token = ServiceToken(
      id: ids.next().description,
      name: name,
      scopes: scopes,
      createdAt: now,
      expiresAt: lifetimeSeconds.map { Timestamp(millisecondsSince1970: now.millisecondsSince1970 + $0 * 1_000) }
    )
    return PreparedAccountsWrite { connection in
      let records = ServiceTokenRecords(connection: connection)
      guard try records.insert(token, hash: secret.hash) else { throw AccountsError.tokenNameTaken }
      return (Created(token: token, secret: secret), [])
    }
  }

  /// Accepts a token whose creation is committed.
  package func add(_ created: Created) {
    let hash = created.secret.hash
    tokens.withLock { tokens in
      tokens = tokens.filter { !$0.value.isEnded }
      tokens[hash] = LiveServiceToken(created.token, hash: hash, now: now)
    }
  }

  /// Prepares to delete a token. After the commit, call `remove(_:)`. The write throws
  /// `noSuchToken`.
  package func prepareDeletion(of id: String) -> PreparedAccountsWrite<Void> {
    PreparedAccountsWrite { connection in
      guard try ServiceTokenRecords(connection: connection).delete(id) else { throw AccountsError.noSuchToken }
      return ((), [])
    }
  }

  /// Refuses a token whose deletion is committed. Notifies the token's waiting requests, which then
  /// end.
  package func remove(_ id: String) {
    let live = tokens.withLock { tokens -> LiveServiceToken? in
      guard let entry = tokens.first(where: { $0.value.id == id }) else { return nil }
      return tokens.removeValue(forKey: entry.key)
    }
    live?.delete()
    for listener in listeners.withLock({ $0 }) { listener() }
  }

  /// Calls `listener` after each deletion of a token, when the token's `isEnded` is true. Does not call
  /// it when a token expires.
  package func whenDeleted(_ listener: @escaping @Sendable () -> Void) {
    listeners.withLock { $0.append(listener) }
  }
}
