import LockstepAccounts
import LockstepCollections
import LockstepStore
import LockstepTime

/// Changes accounts. Each change is made once for its idempotency key, because the response is
/// recorded in the transaction of the change.
package struct AccountsLedger: Sendable {
  package struct Key: Sendable {
    let key: IdempotencyKey
    package let owner: IdempotencyKeyOwner

    package init(key: IdempotencyKey, owner: IdempotencyKeyOwner) {
      self.key = key
      self.owner = owner
    }
  }

  let accounts: StoredAccounts
  let readers: StoreReaders
  let writer: StoreWriter
  let inFlightKeys: InFlightKeys
  /// Gets the size of each record of a user's key.
  let noteRecord: @Sendable (UserID, _ bytes: Int) -> Void
  let now: @Sendable () -> Timestamp

  package init(
    accounts: StoredAccounts,
    readers: StoreReaders,
    _ shared: LedgerEnvironment,
    noteRecord: @escaping @Sendable (UserID, _ bytes: Int) -> Void
  ) {
    self.accounts = accounts
    self.readers = readers
    (writer, inFlightKeys, now) = (shared.writer, shared.inFlightKeys, shared.now)
    self.noteRecord = noteRecord
  }

  /// Makes a change, or returns its recorded response.
  ///
  /// `response` returns the response to the change, and the one that is recorded for a retry.
  /// `committed` is called with the value of the change, before the response. `refusal` returns the
  /// same two responses for an error that a retry would get again, and nil for any other error.
  /// `agent` is the service token that makes the change, and must still exist. Throws the errors of `prepare` and
  /// of the store, `IdempotencyKeyInUseError` and `IdempotencyKeyReusedError`.
  package func commit<Value>(
    key: Key?,
    by agent: LiveServiceToken? = nil,
    prepare: @escaping @Sendable () async throws(AccountsError) -> PreparedAccountsWrite<Value>,
    committed: @Sendable (Value) -> Void = { _ in },
    response: @escaping @Sendable (Value) -> (StoredResponse, recorded: StoredResponse),
    refusal: @Sendable (AccountsError) -> (StoredResponse, recorded: StoredResponse)?
  ) async throws -> KeyedResponse {
    let prepareChecked = { @Sendable () async throws(AccountsError) -> PreparedAccountsWrite<Value> in
      let prepared = try await prepare()
      return agent.map { agent in prepared.checked { try agent.expectStored(in: $0) } } ?? prepared
    }
    guard let key else {
      let value = try await accounts.commit(prepareChecked())
      committed(value)
      return KeyedResponse(response: response(value).0)
    }
    try inFlightKeys.claim(key.key, of: key.owner)
    defer { inFlightKeys.release(key.key, of: key.owner) }
    if let known = try await self.response(to: key) { return KeyedResponse(response: known, isReplay: true) }
    do throws(AccountsError) {
      let value = try await write(prepareChecked(), once: key) { (key, response($0).recorded) }
      committed(value)
      return KeyedResponse(response: response(value).0)
    } catch {
      guard let (refusal, recorded) = refusal(error) else { throw error }
      let now = now()
      try await writer.write { connection in
        let records = IdempotencyRecords(connection: connection)
        try records.lock(key.key.key, of: key.owner)
        try records.expectNone(key.key.key, of: key.owner, at: now)
        // The user may have been erased meanwhile. A unit must not fail after its first write.
        if case .user(let user) = key.owner, try !connection.lock(user) { return }
        try record(recorded, to: key, at: now, by: records)
      }
      return KeyedResponse(response: refusal)
    }
  }

  package func response(to key: Key) async throws -> StoredResponse? {
    let now = now()
    return try await readers.read { connection in
      try IdempotencyRecords(connection: connection).response(to: key.key, of: key.owner, at: now)
    }
  }

  /// Signs a user up or logs a user in, or returns the recorded response.
  ///
  /// The response contains a token, which must not be readable in the store. So the response is
  /// recorded encrypted, and only the password decrypts it. The key for that is a hash of the password,
  /// which counts for `owner`. Throws the same errors as `commit`.
  package func enter(
    _ credentials: Credentials,
    for owner: HashingOwner,
    key: String,
    request: [UInt8],
    prepare: @Sendable () async throws(AccountsError) -> PreparedAccountsWrite<SignedIn>,
    response: @escaping @Sendable (SignedIn) -> StoredResponse
  ) async throws -> KeyedResponse {
    let address = accounts.addressKey(of: credentials)
    let visitorKey = IdempotencyKey(key, fingerprint: [])
    try inFlightKeys.claim(visitorKey, of: .visitor(address: address))
    defer { inFlightKeys.release(visitorKey, of: .visitor(address: address)) }
    if let known = try await sealedResponse(credentials, key: key, request: request, address: address) {
      return KeyedResponse(response: known, isReplay: true)
    }
    let prepared = try await prepare()
    let seal = try await accounts.seal(for: credentials, key: key, owner)
    let fingerprint = seal.fingerprint(of: request)
    let visitor = Key(key: visitorKey, owner: .visitor(address: address))
    do throws(AccountsError) {
      let entered = try await write(prepared, once: visitor) { entered in
        let plain = response(entered)
        let sealed = StoredResponse(status: plain.status, fields: plain.fields, body: plain.body.map(seal.seal))
        return (Key(key: IdempotencyKey(key, fingerprint: fingerprint), owner: .user(entered.user.id)), sealed)
      }
      return KeyedResponse(response: response(entered))
    } catch .addressTaken {
      // Another server may have signed the user up with the same request.
      guard let known = try await sealedResponse(credentials, key: key, request: request, address: address) else {
        throw AccountsError.addressTaken
      }
      return KeyedResponse(response: known, isReplay: true)
    }
  }

  /// Like `enter(_:for:key:request:prepare:response:)`, for a request whose secret cannot be guessed. The
  /// response is recorded for the holder of the secret, and only the secret decrypts it.
  package func enter(
    secret: [UInt8],
    key: String,
    request: [UInt8],
    prepare: @Sendable () async throws(AccountsError) -> PreparedAccountsWrite<SignedIn>,
    response: @escaping @Sendable (SignedIn) -> StoredResponse
  ) async throws -> KeyedResponse {
    let seal = ResponseSeal(secret: secret, key: key)
    let sealed = Key(
      key: IdempotencyKey(key, fingerprint: seal.fingerprint(of: request)),
      owner: .visitor(withSecret: secret)
    )
    try inFlightKeys.claim(sealed.key, of: sealed.owner)
    defer { inFlightKeys.release(sealed.key, of: sealed.owner) }
    if let known = try await self.response(to: sealed) {
      guard let body = known.body.flatMap(seal.open) else { throw IdempotencyKeyReusedError() }
      let plain = StoredResponse(status: known.status, fields: known.fields, body: body)
      return KeyedResponse(response: plain, isReplay: true)
    }
    let entered = try await write(prepare(), once: sealed) { entered in
      let plain = response(entered)
      return (sealed, StoredResponse(status: plain.status, fields: plain.fields, body: plain.body.map(seal.seal)))
    }
    return KeyedResponse(response: response(entered))
  }

  private func sealedResponse(
    _ credentials: Credentials,
    key: String,
    request: [UInt8],
    address: String
  ) async throws -> StoredResponse? {
    guard let user = try await accounts.account(withKey: address)?.user.id else { return nil }
    let now = now()
    let found = try await readers.read { connection in
      // A response older than the last change of the password has a token that is not valid.
      let change = try UserRecords(connection: connection).account(user)?.passwordChangedAt
      return try IdempotencyRecords(connection: connection).recorded(key, of: .user(user), at: now, since: change)
    }
    guard let found else { return nil }
    let opened = try await accounts.opening(credentials, key: key) { seal -> StoredResponse? in
      guard found.fingerprint == seal.fingerprint(of: request), let body = found.response.body.flatMap(seal.open) else {
        return nil
      }
      return StoredResponse(status: found.response.status, fields: found.response.fields, body: body)
    }
    guard let opened else { throw IdempotencyKeyReusedError() }
    return opened
  }

  private func write<Value>(
    _ change: PreparedAccountsWrite<Value>,
    once locked: Key,
    recording response: @escaping @Sendable (Value) -> (key: Key, response: StoredResponse)
  ) async throws(AccountsError) -> Value {
    let now = now()
    accounts.directory.sessionEndings.begin()
    defer { accounts.directory.sessionEndings.finish() }
    do {
      let written = try await writer.write { connection in
        let records = IdempotencyRecords(connection: connection)
        try records.lock(locked.key.key, of: locked.owner)
        try records.expectNone(locked.key.key, of: locked.owner, at: now)
        let written = try change.run(in: connection)
        let (key, recorded) = response(written.value)
        try records.expectNone(key.key.key, of: key.owner, at: now)
        try record(recorded, to: key, at: now, by: records)
        return written
      }
      return accounts.finish(written)
    } catch {
      throw AccountsError(thrown: error)
    }
  }

  private func record(
    _ response: StoredResponse,
    to key: Key,
    at now: Timestamp,
    by records: IdempotencyRecords
  ) throws {
    try records.record(response, to: key.key, of: key.owner, at: now)
    if case .user(let user) = key.owner {
      noteRecord(user, IdempotencyRecords.bytes(of: response, to: key.key))
    }
  }
}
