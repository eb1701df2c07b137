import LockstepCollections
import LockstepStore

extension StoredAccounts {
  /// What tells the address of credentials apart from others, whether or not it's one.
  package func addressKey(of credentials: Credentials) -> String {
    (try? EmailAddress(credentials.email))?.key
      ?? String(decoding: credentials.email.utf8.prefix(EmailAddress.maximumBytes), as: UTF8.self)
  }

  /// Who has this address; nil when nobody does.
  package func user(withAddressKey key: String) async throws(AccountsError) -> UserID? {
    try await account(withKey: key)?.user.id
  }

  /// The seal of the credentials' password, for one idempotency key.
  package func seal(for credentials: Credentials, key: String) async throws(AccountsError) -> PasswordSeal {
    let salt = DomainHash.of("seal", Array(addressKey(of: credentials).utf8), Array(key.utf8), count: 16)
    return try await PasswordSeal(credentials.password, salt: salt, hasher: hasher)
  }

  /// What `open` makes of the seal; nil where that gives nothing, which counts as a wrong password: this is a way to try
  /// one, as a login is.
  package func opening<Value>(
    _ credentials: Credentials,
    key: String,
    _ open: (PasswordSeal) -> Value?
  ) async throws(AccountsError) -> Value? {
    let attempt = try limiter.logIn(account: addressKey(of: credentials), from: credentials.network)
    let seal: PasswordSeal
    do throws(AccountsError) {
      seal = try await self.seal(for: credentials, key: key)
    } catch {
      limiter.abandoned(attempt)
      throw error
    }
    guard let value = open(seal) else { return nil }
    limiter.succeeded(attempt)
    return value
  }
}
