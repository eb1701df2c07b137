import LockstepAccounts
import LockstepSQLite
import LockstepStore
import LockstepTime

/// Changes to accounts, each answered once for each idempotency key: the answer is kept in the transaction that makes the
/// change, so that a crash can't separate them.
package struct AccountsLedger: Sendable {
  /// A key, and whose it is.
  package struct Key: Sendable {
    let key: IdempotencyKey
    let owner: IdempotencyKeyOwner

    package init(key: IdempotencyKey, owner: IdempotencyKeyOwner) {
      self.key = key
      self.owner = owner
    }
  }

  let accounts: StoredAccounts
  let readers: ReaderPool
  let writer: DatabaseWriter
  let keysInUse: InFlightKeys
  let now: @Sendable () -> Timestamp

  package init(
    accounts: StoredAccounts,
    readers: ReaderPool,
    writer: DatabaseWriter,
    keysInUse: InFlightKeys,
    now: @escaping @Sendable () -> Timestamp
  ) {
    self.accounts = accounts
    self.readers = readers
    self.writer = writer
    self.keysInUse = keysInUse
    self.now = now
  }

  /// Makes a change, or gives the answer that it had before.
  ///
  /// - Parameters:
  ///   - key: The client's key, where it sent one.
  ///   - prepare: The slow part of the change.
  ///   - answer: What the client is told when it's done.
  ///   - refusal: What the client is told of a refusal that is to stay; nil for an error that may be over the next time.
  /// - Returns: The answer, or the one that was given before.
  /// - Throws: Why it can't be done, `IdempotencyKeyInUseError`, `IdempotencyKeyReusedError`.
  package func commit(
    key: Key?,
    prepare: @Sendable () async throws(AccountsError) -> PreparedAccountsWrite<Void>,
    answer: StoredResponse,
    refusal: @Sendable (AccountsError) -> StoredResponse?
  ) async throws -> KeyedResponse {
    guard let key else {
      try await accounts.commit(prepare())
      return KeyedResponse(answer: answer)
    }
    return try await keysInUse.hold(key.key, of: key.owner) {
      if let kept = try await self.answer(to: key) { return KeyedResponse(answer: kept, isReplay: true) }
      do throws(AccountsError) {
        try await write(prepare()) { _ in (key, answer) }
        return KeyedResponse(answer: answer)
      } catch {
        guard let refusal = refusal(error) else { throw error }
        let now = now()
        try await writer.write { connection in
          try IdempotencyRecords(connection: connection).keep(refusal, to: key.key, of: key.owner, now: now)
        }
        return KeyedResponse(answer: refusal)
      }
    }
  }

  /// The answer that was given to a key before; nil where there is none.
  package func answer(to key: Key) async throws -> StoredResponse? {
    let now = now()
    return try await readers.read { connection in
      try IdempotencyRecords(connection: connection).answer(to: key.key, of: key.owner, now: now)
    }
  }

  /// Signs a user up or logs them in, or gives the answer that this had before.
  ///
  /// The answer holds a token, which the store must not: it's kept under a seal that only who has the password opens.
  ///
  /// - Parameters:
  ///   - credentials: Who it is.
  ///   - key: The client's key.
  ///   - request: All of the request that makes it the same one.
  ///   - prepare: The slow part.
  ///   - answer: What the client is told.
  /// - Returns: The answer, or the one that was given before.
  /// - Throws: Why it can't be done, `IdempotencyKeyInUseError`, `IdempotencyKeyReusedError`.
  package func enter(
    _ credentials: Credentials,
    key: String,
    request: [UInt8],
    prepare: @Sendable () async throws(AccountsError) -> PreparedAccountsWrite<SignedIn>,
    answer: @escaping @Sendable (SignedIn) -> StoredResponse
  ) async throws -> KeyedResponse {
    let address = accounts.addressKey(of: credentials)
    return try await keysInUse.hold(IdempotencyKey(key, fingerprint: []), of: .visitor(address: address)) {
      if let kept = try await sealedAnswer(credentials, key: key, request: request, address: address) {
        return KeyedResponse(answer: kept, isReplay: true)
      }
      let prepared = try await prepare()
      let seal = try await accounts.seal(for: credentials, key: key)
      let fingerprint = seal.fingerprint(of: request)
      let entered = try await write(prepared) { entered in
        let plain = answer(entered)
        let sealed = StoredResponse(status: plain.status, fields: plain.fields, body: plain.body.map(seal.seal))
        return (Key(key: IdempotencyKey(key, fingerprint: fingerprint), owner: .user(entered.user.id)), sealed)
      }
      return KeyedResponse(answer: answer(entered))
    }
  }

  private func sealedAnswer(
    _ credentials: Credentials,
    key: String,
    request: [UInt8],
    address: String
  ) async throws -> StoredResponse? {
    guard let user = try await accounts.user(withAddressKey: address) else { return nil }
    let now = now()
    let found = try await readers.read { connection in
      // An old password opens nothing any more: what was told under it holds a token.
      let change = try UserRecords(connection: connection).account(user)?.passwordChangedAt
      return try IdempotencyRecords(connection: connection).kept(key, of: .user(user), now: now, since: change)
    }
    guard let found else { return nil }
    let opened = try await accounts.opening(credentials, key: key) { seal -> StoredResponse? in
      guard found.fingerprint == seal.fingerprint(of: request), let body = found.answer.body.flatMap(seal.open) else {
        return nil
      }
      return StoredResponse(status: found.answer.status, fields: found.answer.fields, body: body)
    }
    guard let opened else { throw IdempotencyKeyReusedError() }
    return opened
  }

  /// Writes a change and its answer in one transaction.
  private func write<Value>(
    _ change: PreparedAccountsWrite<Value>,
    keeping answer: @escaping @Sendable (Value) -> (key: Key, answer: StoredResponse)
  ) async throws(AccountsError) -> Value {
    let now = now()
    accounts.directory.sessionEndings.begin()
    defer { accounts.directory.sessionEndings.finish() }
    do {
      let written = try await writer.write { connection in
        let written = try change.run(in: connection)
        let kept = answer(written.value)
        let records = IdempotencyRecords(connection: connection)
        try records.keep(kept.answer, to: kept.key.key, of: kept.key.owner, now: now)
        return written
      }
      return accounts.finish(written)
    } catch {
      throw AccountsError(thrown: error)
    }
  }
}
