import LockstepCollections
import LockstepStore

extension StoredAccounts {
  /// The key of the credentials' address, or the beginning of a text that is not an address.
  package func addressKey(of credentials: Credentials) -> String {
    (try? EmailAddress(credentials.email))?.key
      ?? String(decoding: credentials.email.utf8.prefix(EmailAddress.maximumBytes), as: UTF8.self)
  }

  package func user(withAddressKey key: String) async throws(AccountsError) -> UserID? {
    try await account(withKey: key)?.user.id
  }

  /// Seals a response under the credentials' password, for one idempotency key.
  package func seal(for credentials: Credentials, key: String) async throws(AccountsError) -> PasswordSeal {
    let salt = DomainHash.of("seal", Array(addressKey(of: credentials).utf8), Array(key.utf8), count: 16)
    return try await PasswordSeal(credentials.password, salt: salt, hasher: hasher)
  }

  /// Returns the value that `open` finds with the seal. `nil` counts as a wrong password: a client
  /// could try passwords in this way, as with a login.
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
