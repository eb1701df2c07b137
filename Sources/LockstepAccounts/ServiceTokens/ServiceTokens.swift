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

  private struct Contents: Sendable {
    var tokens: [TokenHash: LiveServiceToken]
    /// How often this node has changed the tokens.
    var changes = 0
  }

  private let contents: LockedState<Contents>
  private let ids: UUIDv7Generator
  private let tokenIssuer: TokenIssuer
  private let now: @Sendable () -> Timestamp
  private let observer: any AccountsObserver
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
    contents = LockedState(Contents(tokens: Dictionary(live) { first, _ in first }))
    self.now = now
    (ids, tokenIssuer, observer) = (accounts.ids, accounts.tokenIssuer, accounts.observer)
  }

  /// The token with this text; nil if there is none, or if it has expired.
  package func token(_ text: Slice<UnsafeRawBufferPointer>) -> LiveServiceToken? {
    guard let secret = Token(service: UnsafeRawBufferPointer(rebasing: text)) else { return nil }
    let hash = secret.hash
    guard let found = contents.withLock({ $0.tokens[hash] }), !found.isEnded else { return nil }
    return found
  }

  /// All tokens that have not expired, oldest first.
  package var all: [ServiceToken] {
    contents.withLock { $0.tokens.values.filter { !$0.isEnded }.map(\.token) }.sorted { $0.id < $1.id }
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
    let (secret, now) = (tokenIssuer.makeService(), now())
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
    contents.withLock { contents in
      contents.changes += 1
      contents.tokens = contents.tokens.filter { !$0.value.isEnded }
      contents.tokens[hash] = LiveServiceToken(created.token, hash: hash, now: now)
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
    let live = contents.withLock { contents -> LiveServiceToken? in
      contents.changes += 1
      guard let entry = contents.tokens.first(where: { $0.value.id == id }) else { return nil }
      return contents.tokens.removeValue(forKey: entry.key)
    }
    live?.delete()
    observer.serviceTokenDeleted()
  }

  /// Takes in the changes of other nodes.
  package func refresh(from connection: StoreConnection) throws {
    while true {
      let before = contents.withLock { $0.changes }
      let stored = try ServiceTokenRecords(connection: connection).all()
      let removed = contents.withLock { contents -> [LiveServiceToken]? in
        // A token that this node adds meanwhile may be missing in `stored`.
        guard contents.changes == before else { return nil }
        let known = contents.tokens
        contents.tokens = [:]
        for (token, hash) in stored {
          contents.tokens[hash] = known[hash] ?? LiveServiceToken(token, hash: hash, now: now)
        }
        return known.filter { contents.tokens[$0.key] == nil }.map(\.value)
      }
      guard let removed else { continue }
      for token in removed { token.delete() }
      if !removed.isEmpty { observer.serviceTokenDeleted() }
      return
    }
  }
}
