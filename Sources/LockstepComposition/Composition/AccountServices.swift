import LockstepAccounts
import LockstepStore
import LockstepSync
import LockstepThreading
import LockstepTime

/// The accounts of a server: passwords, sessions, service tokens, and tokens of other issuers.
struct AccountServices: Sendable {
  let stored: StoredAccounts
  /// Nil: the server accepts no tokens of other issuers.
  let identities: IdentityServices?
  let serviceTokens: ServiceTokens
  // Two password hashes run at a time, and up to 64 wait. So many logins at once delay only logins.
  private let hashing: HashingPool

  init(
    _ configuration: Configuration,
    _ storage: StorageServices,
    _ sodium: Sodium,
    observer: any CommitObserver,
    time: TimeSource,
    counter: WorkCounter?
  ) throws {
    hashing = try HashingPool(threads: 2, capacity: 64, counter: counter)
    stored = StoredAccounts(
      store: storage.store,
      tokenKey: storage.tokenKey,
      hasher: Argon2Hasher(sodium, strength: configuration.passwordStrength, workers: hashing),
      random: sodium.randomWord,
      time: time,
      configuration: configuration.accounts,
      observer: observer
    )
    identities =
      configuration.trustedIssuers.isEmpty
      ? nil : try IdentityServices(configuration.trustedIssuers, stored, configuration.outgoingTimes, time: time)
    let tokens = try storage.store.write { try ServiceTokenRecords(connection: $0).all() }
    serviceTokens = ServiceTokens(stored, tokens, now: time.now)
  }

  var waitingHashes: Int { hashing.waiting }

  func shutDown() {
    identities?.shutDown()
    hashing.shutDown()
  }
}
