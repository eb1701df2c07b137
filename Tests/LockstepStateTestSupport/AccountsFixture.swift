import LockstepSQLiteStore
import LockstepTestSupport
import LockstepThreading
import Synchronization
import Testing

@testable import LockstepAccounts
@testable import LockstepCollections
@testable import LockstepStore

/// Accounts on their own store, in virtual time, with a stub hasher.
final class AccountsFixture: Sendable {
  let files: StoreFixture
  let store: DurableStore
  let hasher: StubHasher
  let accounts: StoredAccounts
  let observer: EndedSessions

  var clock: StoreClock { files.clock }
  var directory: SessionDirectory { accounts.directory }
  var now: Int64 { clock.time.millisecondsSince1970() }

  init(
    hasher: StubHasher = StubHasher(),
    writer: DatabaseWriter.Options = DatabaseWriter.Options(),
    _ change: (inout AccountsConfiguration) -> Void = { _ in }
  ) async throws {
    var configuration = AccountsConfiguration()
    change(&configuration)
    let files = try StoreFixture()
    self.files = files
    self.hasher = hasher
    observer = EndedSessions()
    (store, accounts) = try await Self.open(files, writer, hasher, configuration, observer)
  }

  deinit { store.close() }

  /// The accounts as they are after a restart of the server: only what is in the store.
  func restarted(_ change: (inout AccountsConfiguration) -> Void = { _ in }) async throws -> StoredAccounts {
    var configuration = AccountsConfiguration()
    change(&configuration)
    return try await Self.accounts(store, files, hasher, configuration, observer)
  }

  static func credentials(
    _ email: String,
    _ password: String = "a good password",
    device: String? = nil,
    from host: String = "192.0.2.1"
  ) -> Credentials {
    Credentials(
      email: email,
      password: Password(password),
      device: device,
      network: ClientNetwork(host: host)
    )
  }

  @discardableResult
  func signUp(
    _ email: String,
    _ password: String = "a good password",
    device: String? = nil,
    from host: String = "192.0.2.1"
  ) async throws -> SignedIn {
    try await accounts.signUp(Self.credentials(email, password, device: device, from: host))
  }

  @discardableResult
  func logIn(
    _ email: String,
    _ password: String = "a good password",
    device: String? = nil,
    from host: String = "192.0.2.1"
  ) async throws -> SignedIn {
    try await accounts.logIn(Self.credentials(email, password, device: device, from: host))
  }

  /// The session of the token, or nil if the token is not valid.
  func live(_ signedIn: SignedIn) async throws -> LiveSession? {
    try await directory.session(of: Array(signedIn.token.text.utf8), at: now)
  }

  /// The number of rows that a statement counts.
  func count(_ sql: StoreSQL) async throws -> Int {
    try await store.readers.read { connection in try connection.first(sql) { row in try row[0] as Int } ?? -1 }
  }

  private static func open(
    _ files: StoreFixture,
    _ writer: DatabaseWriter.Options,
    _ hasher: StubHasher,
    _ configuration: AccountsConfiguration,
    _ observer: EndedSessions
  ) async throws -> (DurableStore, StoredAccounts) {
    let store = try files.testedStore(options: .init(busyTimeout: .zero, writer: writer, readingThreads: 1))
    return (store, try await accounts(store, files, hasher, configuration, observer))
  }

  private static func accounts(
    _ store: DurableStore,
    _ files: StoreFixture,
    _ hasher: StubHasher,
    _ configuration: AccountsConfiguration,
    _ observer: EndedSessions
  ) async throws -> StoredAccounts {
    let sodium = try Sodium()
    let key = try await store.writer.write { try TokenKey.findOrMake(in: $0, random: sodium.randomWord) }
    return StoredAccounts(
      store: store,
      tokenKey: key,
      hasher: hasher,
      random: sodium.randomWord,
      time: files.clock.time,
      configuration: configuration,
      observer: observer
    )
  }
}

/// Notes the sessions that have ended.
final class EndedSessions: AccountsObserver {
  private let check = LockedState<@Sendable () -> Void>({})
  private let all = LockedState<[[SessionID]]>([])

  /// The sessions of each call.
  var calls: [[SessionID]] { all.withLock { $0 } }

  /// Sets what to check during each call.
  func during(_ check: @escaping @Sendable () -> Void) { self.check.withLock { $0 = check } }

  func sessionsEnded(_ sessions: [SessionID], of users: Set<UserID>) {
    check.withLock { $0 }()
    all.withLock { $0.append(sessions) }
  }
}

extension ClientNetwork {
  static let test = ClientNetwork(host: "192.0.2.1")
}

extension PasswordHashing {
  func hash(_ password: Password) async throws(AccountsError) -> PasswordHash {
    try await hash(password, for: .administrator)
  }

  func verify(_ password: Password, against hash: PasswordHash) async throws(AccountsError) -> Bool {
    try await verify(password, against: hash, for: .administrator)
  }
}

/// A hasher that does no work and records its computations. It can be made to wait or to refuse.
final class StubHasher: PasswordHashing {
  private struct State {
    var computations: [String] = []
    var strength = 1
    var isOverloaded = false
    var gates: [Gate] = []
  }

  private let state = Mutex(State())
  /// The threads that compute, and the gate at which each computation stops. Nil: no threads.
  private let threads: (pool: HashingPool, gate: ThreadGate)?

  init(on threads: (pool: HashingPool, gate: ThreadGate)? = nil) { self.threads = threads }

  let dummy = PasswordHash("dummy")

  /// Returns the computations since the last call, in order.
  func takeComputations() -> [String] {
    state.withLock { state in
      defer { state.computations = [] }
      return state.computations
    }
  }

  func setStrength(_ strength: Int) { state.withLock { $0.strength = strength } }
  func setOverloaded(_ isOverloaded: Bool) { state.withLock { $0.isOverloaded = isOverloaded } }

  /// The next computations wait at one gate each before they return.
  func stopNext(at gates: Gate...) { state.withLock { $0.gates += gates } }

  func hash(_ password: Password, for owner: HashingOwner) async throws(AccountsError) -> PasswordHash {
    let strength = state.withLock { $0.strength }
    try await compute("hash", owner)
    return PasswordHash("\(strength):" + password.withBytes { "\($0)" })
  }

  func verify(
    _ password: Password,
    against hash: PasswordHash,
    for owner: HashingOwner
  ) async throws(AccountsError) -> Bool {
    try await compute("verify", owner)
    return hash.text.drop { $0 != ":" } == ":" + password.withBytes { "\($0)" }
  }

  func derive(
    _ count: Int,
    from password: Password,
    salt: [UInt8],
    for owner: HashingOwner
  ) async throws(AccountsError) -> [UInt8] {
    try await compute("derive", owner)
    return password.withBytes { bytes in
      (0..<count).map { salt[$0 % salt.count] &+ UInt8(bitPattern: bytes[$0 % bytes.count]) }
    }
  }

  func isOutdated(_ hash: PasswordHash) -> Bool {
    !hash.text.hasPrefix("\(state.withLock { $0.strength }):")
  }

  private func compute(_ what: String, _ owner: HashingOwner) async throws(AccountsError) {
    let (isOverloaded, gate) = state.withLock { state in
      if !state.isOverloaded { state.computations.append(what) }
      return (state.isOverloaded, state.gates.isEmpty ? nil : state.gates.removeFirst())
    }
    if isOverloaded { throw .overloaded }
    await gate?.pass()
    guard let threads else { return }
    try await AccountsError.converting { try await threads.pool.run(for: owner) { threads.gate.pass() } }
  }
}

/// Makes one task wait until it is opened, and reports when the task has arrived.
actor Gate {
  private var isOpen = false
  private var hasArrived = false
  private var held: CheckedContinuation<Void, Never>?
  private var watching: CheckedContinuation<Void, Never>?

  func pass() async {
    hasArrived = true
    watching?.resume()
    watching = nil
    if !isOpen { await withCheckedContinuation { held = $0 } }
  }

  func open() {
    isOpen = true
    held?.resume()
    held = nil
  }

  /// Returns when the task has arrived.
  func arrived() async {
    if !hasArrived { await withCheckedContinuation { watching = $0 } }
  }
}

/// Blocks a thread, for example a reader thread, until it is opened.
final class ThreadGate: Sendable {
  private let isOpen = LockedState(false)

  func pass() { isOpen.wait { $0 ? () : nil } }

  /// Returns when the gate has been opened.
  func opened() async { await eventually { isOpen.withLock { $0 } } }

  func open() {
    isOpen.withLock { $0 = true }
    isOpen.wakeAll()
  }

  func shut() { isOpen.withLock { $0 = false } }
}

extension AccountsError {
  /// The error that a call throws, or nil if it throws none or an error of another type.
  static func caught(_ body: () async throws -> Void) async -> AccountsError? {
    do {
      try await body()
      return nil
    } catch {
      return error as? AccountsError
    }
  }
}

extension SessionDirectory {
  func authenticate(_ text: [UInt8], at now: Int64) -> Lookup {
    text.withUnsafeBytes { authenticate($0[...], at: now) }
  }

  /// The session of a token, from memory or the store; nil if the token is not valid.
  func session(of text: [UInt8], at now: Int64) async throws(AccountsError) -> LiveSession? {
    switch authenticate(text, at: now) {
    case .session(let session): session
    case .refused, .ofIssuer: nil
    case .unknown(let token): try await load(token, at: now)
    }
  }
}
