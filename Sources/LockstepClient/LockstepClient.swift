import Foundation
import LockstepCollections
import LockstepJSON
import LockstepModules
import LockstepReactor
import LockstepTime
import Synchronization

/// A client of a Lockstep server: a copy of the user's state on this device, and an outbox of
/// writes.
///
///     let server = URL(string: "https://state.example.com")!
///     let lockstep = try LockstepClient(server, store: .file("state.db"))
///     let favorites = lockstep.list("favorites", of: Favorite.self)
///     async let running: Void = lockstep.run()
///     try await favorites.add(Favorite(id: "photo:1", title: "Aurora"))
///
/// Reads never wait. When a call that writes returns, the write is on disk and shown. The client
/// sends it when there is a connection.
public final class LockstepClient: Sendable {
  /// Where a client keeps its copy and its outbox.
  public enum Store: Sendable {
    /// A file at this path. The client creates the file if it does not exist. Its folder must
    /// exist.
    case file(String)
    /// In memory only, for tests and previews.
    case memory
  }

  let engine: SyncEngine
  let environment: SyncEngine.Environment
  private let views: ShownViews
  /// The values of members that older elements may lack, by module.
  private let memberDefaults: [ExactText: JSONObject]
  private let latest: Latest<ClientStatus>

  /// A client of the server at a URL.
  ///
  /// - Parameters:
  ///   - server: The URL of the server, such as `https://state.example.com`.
  ///   - store: Where the client keeps the copy and the outbox.
  ///   - credentials: Where the client keeps the token. By default in memory, so the user must log
  ///     in after each start.
  ///   - modules: Your own modules, besides `favorites`, `defaults` and `profile`.
  ///   - collections: The collections that the client follows; nil for all.
  ///   - following: Whether the client gets changes with long polls or with an event stream.
  /// - Throws: `LockstepClientError`, whose `reason` says what an app can do.
  public convenience init(
    _ server: URL,
    store: Store,
    credentials: any ClientCredentials = MemoryCredentials(),
    modules: [UserModule] = [],
    collections: [String]? = nil,
    following: Following = .polls
  ) throws(LockstepClientError) {
    try self.init(
      store: store,
      transport: URLSessionTransport(server),
      credentials: credentials,
      modules: modules,
      collections: collections,
      following: following
    )
  }

  /// A client with another transport and another clock, for tests in virtual time. Unless the clock
  /// is a `ContinuousClock`, the client also reads the time of day from it. `randomNumber` is for
  /// pauses and keys.
  public convenience init(
    store: Store,
    transport: any ClientTransport,
    credentials: any ClientCredentials = MemoryCredentials(),
    modules: [UserModule] = [],
    collections: [String]? = nil,
    following: Following = .polls,
    clock: any Clock<Duration> = ContinuousClock(),
    randomNumber: @escaping @Sendable () -> UInt64 = { .random(in: .min ... .max) }
  ) throws(LockstepClientError) {
    var (path, neighbors): (String?, StoreNeighbors?) = (nil, nil)
    if case .file(let file) = store { (path, neighbors) = (file, try .ofFile(file)) }
    try self.init(
      store: ClientStore(path: path),
      modules: modules,
      following: collections,
      SyncEngine.Environment(
        transport: transport,
        following: following,
        credentials: credentials,
        clock: clock,
        now: WallTime.of(clock),
        random: { Double(randomNumber() >> 11) / Double(1 << 53) },
        newKey: { String(randomNumber(), radix: 36) + String(randomNumber(), radix: 36) },
        neighbors: neighbors
      )
    )
  }

  init(
    store: sending ClientStore,
    modules: [UserModule],
    following collections: [String]?,
    _ environment: SyncEngine.Environment
  ) throws(LockstepClientError) {
    for module in modules {
      if let mistake = module.mistake { throw LockstepClientError(InvalidModuleError(module.name, mistake)) }
    }
    memberDefaults = Dictionary(modules.map { ($0.name.exact, $0.defaults) }) { first, _ in first }
    let (views, latest) = (ShownViews(), Latest(ClientStatus()))
    let builtIn = [UserModule.favorites(), DefaultsModule(quota: DefaultsQuota()).userModule, .profile]
    do {
      engine = try SyncEngine(
        store: store,
        modules: builtIn + modules,
        following: collections,
        environment
      ) { shown in
        views.show(shown)
        latest.publish(ClientStatus(shown))
      }
    } catch { throw LockstepClientError(error) }
    (self.environment, self.views, self.latest) = (environment, views, latest)
    views.show(engine.first)
    latest.publish(ClientStatus(engine.first))
  }

  deinit {
    latest.finish()
    views.finish()
  }

  /// Moves a client's file away, such as a damaged one, so that a new client can use the path. Reads
  /// the writes from it that the server has not confirmed. The new client loads the copy again, and
  /// the app decides whether it performs the writes again. No client may have the file open.
  public static func setStoreAside(at path: String) throws -> SetAsideStore { try SetAsideStore(moving: path) }

  /// Deletes a client's file. Writes that were not sent are lost: `setStoreAside(at:)` keeps them.
  /// No client may have the file open.
  public static func removeStore(at path: String) throws { try ClientStore.remove(at: path) }

  /// Follows the server and sends the outbox, until the task is cancelled. Run it while the app is
  /// in use. While one call runs, a second call waits until the first one has ended.
  public func run() async {
    // `statuses` ends when the client is released.
    defer { withExtendedLifetime(self) {} }
    await engine.run()
  }

  /// Closes the file until the client uses it again, for example for a write. An open file has shared
  /// locks. iOS may end an app that is suspended while it has a lock on a file in the folder of an app
  /// group. At the end of `run`, the client closes the file by itself. Call this if the app
  /// uses the client without `run`, or has written after the end of `run`.
  public func closeFile() async { await engine.closeFile() }

  /// Connects again at once if the client is offline. Call this when the app comes to the
  /// foreground.
  public func tryNow() async { await engine.tryNow() }

  /// The present status.
  public var status: ClientStatus { latest.value }

  /// The status now and after each change, until the client is released.
  public var statuses: LatestValues<ClientStatus> { latest.values }

  // MARK: - Sessions

  /// Signs a new user up, and keeps the token of the session. `device` is the name of this device
  /// in the list of sessions. Throws a `ClientFailure` if the server refuses or does not respond.
  public func signUp(email: String, password: String, device: String? = nil) async throws {
    try await engine.enter("/v1/users", Self.credentials(email, password, device))
  }

  /// Logs a user in, and keeps the token of the session. If another user was logged in before, the
  /// client deletes the copy and the writes of that user. Throws a `ClientFailure` if the server
  /// refuses or does not respond.
  public func logIn(email: String, password: String, device: String? = nil) async throws {
    try await engine.enter("/v1/sessions", Self.credentials(email, password, device))
  }

  /// Signs a user up without an e-mail address and a password, for an app that asks for an account
  /// later. Only the token on this device gives access to the user, until `setCredentials` gives
  /// the user credentials. Throws like `signUp`.
  public func signUpAnonymously(device: String? = nil) async throws {
    try await engine.enter("/v1/users", Self.body(["anonymous": true], device))
  }

  /// Logs in with the token of another issuer that the server accepts, such as that of Sign in with
  /// Apple. Otherwise like `logIn(email:password:device:)`.
  public func logIn(idToken: String, device: String? = nil) async throws {
    try await engine.enter("/v1/sessions", Self.body(["idToken": .string(idToken)], device))
  }

  /// Gives an anonymous user an e-mail address and a password. The user stays logged in and keeps
  /// all data. Throws a `ClientFailure` with the status 409 if another account has the address.
  public func setCredentials(email: String, password: String) async throws {
    try await engine.setCredentials(Self.credentials(email, password, nil))
  }

  /// Lets an anonymous user log in with tokens of another issuer. Otherwise like
  /// `setCredentials(email:password:)`.
  public func setCredentials(idToken: String) async throws {
    try await engine.setCredentials(Self.body(["idToken": .string(idToken)], nil))
  }

  /// Asks for a mail with a link to choose a new password. The server does not say whether a user
  /// has the address. Throws a `ClientFailure` with the status 404 if the server sends no mails.
  public func requestPasswordReset(email: String) async throws {
    try await engine.requestPasswordReset(["email": .string(email)])
  }

  /// Asks for a mail with a link that proves an e-mail address, a new one or the present one. The
  /// address of the account changes when the user follows the link. Throws a `ClientFailure` with
  /// the status 403 if the password is wrong.
  public func requestEmailProof(_ email: String, password: String) async throws {
    try await engine.requestEmailProof(Self.credentials(email, password, nil))
  }

  /// Logs the user out, and deletes the copy and the writes on this device, unless `keepsCopy` is
  /// true. If the server does not respond within 5 seconds, the session stays valid there until it
  /// expires. Until the next login, calls that write throw. If the file cannot be written, the
  /// session ends nevertheless, and this throws. Call it again to delete the copy and the writes.
  public func logOut(keepsCopy: Bool = false) async throws { try await engine.leave(keepsCopy: keepsCopy) }

  private static func credentials(_ email: String, _ password: String, _ device: String?) -> JSON {
    body(["email": .string(email), "password": .string(password)], device)
  }

  private static func body(_ members: JSONObject, _ device: String?) -> JSON {
    var object = members
    if let device { object["device"] = .string(device) }
    return .object(object)
  }

  // MARK: - Writes

  /// Writes up to 500 actions that the server applies together, or not at all. When this returns,
  /// they are on disk and shown. With `ifUnchanged`, the server refuses them if another device has
  /// changed an element, a key or an object that they name since this device has seen it.
  @discardableResult
  public func perform(
    ifUnchanged: Bool = false,
    _ body: (inout ClientTransaction) throws -> Void
  ) async throws -> PendingWrite {
    var transaction = ClientTransaction()
    try body(&transaction)
    return try await engine.write(transaction.actions, condition: ifUnchanged ? WriteCondition() : nil)
  }

  /// Performs an action of a module, such as one of your own. It is encoded as `{"type": …,
  /// "payload": …}`, as the types that `lockstep swift` prints are.
  @discardableResult
  public func perform(_ action: some Encodable & Sendable, in module: String) async throws -> PendingWrite {
    try await perform { try $0.perform(action, in: module) }
  }

  /// Removes a write that the client has not sent yet. Returns false if the client has sent it,
  /// because the server may have applied it, or if it is not a write of this client.
  public func cancel(_ write: PendingWrite) async throws -> Bool { try await engine.cancel(write) }

  /// The writes that the server has refused, in order. The client does not show them. They stay
  /// until `retry` or `dismiss`, also after a restart.
  public var refusedWrites: [RefusedWrite] { views.refused.value }

  /// The refused writes now and after each change, until the client is released.
  public var refusals: LatestValues<[RefusedWrite]> { views.refused.values }

  /// Sends a refused write again, as a new write without a condition. Returns nil if it was
  /// dismissed or retried before.
  public func retry(_ write: RefusedWrite) async throws -> PendingWrite? { try await engine.retry(write) }

  /// Removes a refused write.
  public func dismiss(_ write: RefusedWrite) async throws { try await engine.dismiss(write) }

  // MARK: - Collections

  /// How many collections the client keeps up to date.
  var collectionCount: Int { views.count }

  /// A list, such as `favorites` or one of your own. Each call returns a new object. Keep it,
  /// because the client updates it only while the app has a reference to it.
  public func list<Element>(_ name: String = "favorites", of type: Element.Type) -> SyncedList<Element> {
    views.add { SyncedList(name, defaults: memberDefaults[name.exact] ?? JSONObject(), engine, $0) }
  }

  /// A suite of the user defaults.
  public func defaults(_ suite: String = "standard") -> SyncedMap {
    views.add { SyncedMap("defaults/\(suite)", module: "defaults", scope: ["suite": .string(suite)], engine, $0) }
  }

  /// A map of your own.
  public func map(_ name: String) -> SyncedMap {
    views.add { SyncedMap(name, module: name, engine, $0) }
  }

  /// The user's profile.
  public var profile: SyncedObject<Profile> { object("profile", of: Profile.self) }

  /// An object with fixed members, such as one of your own.
  public func object<Value>(_ name: String, of type: Value.Type) -> SyncedObject<Value> {
    views.add { SyncedObject(name, engine, $0) }
  }
}

/// A write that the server has refused.
public struct RefusedWrite: Sendable, Equatable, Identifiable {
  let number: Int64
  /// Distinguishes the refused writes of a client.
  public var id: Int64 { number }
  /// The actions in the form that the server got: `{"module": …, "type": …, "payload": …}`.
  public let actions: [JSON]
  /// Why the server has refused it, or why the client does not send it any more. Its `title` is a text for users.
  public let failure: ClientFailure
}

extension RefusedWrite {
  fileprivate init?(_ entry: OutboxEntry) {
    guard let refusal = entry.refusal else { return nil }
    self.init(number: entry.number, actions: entry.actions.map(\.json), failure: refusal)
  }
}

/// The status of a client.
public struct ClientStatus: Sendable, Equatable {
  /// The connection to the server, as the last response has shown it.
  public enum Connection: Sendable, Equatable {
    /// `run` was not called, or has ended.
    case stopped
    /// The first request of a connection has no response yet.
    case connecting
    /// The server responds.
    case live
    /// There is no response, or it does not come from a Lockstep server. The client tries again.
    case offline
    /// There is no token, or the session has ended: log in. The client keeps all writes.
    case needsLogin
    /// The server refuses the client's requests, for example because `collections` has a name that
    /// the server does not know. The client tries again after a login, or when the app calls `run`
    /// again.
    case failed

    init(_ phase: ConnectionState.Phase) {
      self =
        switch phase {
        case .idle, .stopped: .stopped
        case .connecting: .connecting
        case .live: .live
        case .offline: .offline
        case .needsLogin: .needsLogin
        case .failed: .failed
        }
    }
  }

  /// The connection.
  public let connection: Connection
  /// Whether the client has a copy of the state, from this run or an earlier one.
  public let isReady: Bool
  /// How many writes the server has not confirmed.
  public let pending: Int
  /// Why there is no connection.
  public let failure: ClientFailure?
  /// Why the client's file cannot be written.
  public let storeFailure: ClientFailure?

  init() {
    (connection, isReady, pending, failure, storeFailure) = (.stopped, false, 0, nil, nil)
  }

  init(_ shown: Shown) {
    connection = Connection(shown.connection.phase)
    (isReady, pending) = (shown.isReady, shown.pending)
    (failure, storeFailure) = (shown.connection.failure, shown.storeFailure)
  }
}

/// A collection that shows the client's state.
protocol ShownView: AnyObject, Sendable {
  /// Takes over what the client shows. Called by one thread at a time, in order.
  func show(_ shown: Shown)
}

/// The collections that the app has asked for. They are released with the app's last reference.
final class ShownViews: Sendable {
  private struct View: Sendable {
    weak var object: (any ShownView)?
  }

  private struct Contents: Sendable {
    var shown: Shown?
    var views: [View] = []
    /// With so many views, those that were released are removed.
    var limit = 16
  }

  private let contents = Mutex(Contents())
  /// The writes that the server has refused, in order.
  let refused = Latest<[RefusedWrite]>([])

  /// Adds a collection, which begins with what is shown now.
  func add<Collection: ShownView>(_ make: (Shown) -> Collection) -> Collection {
    contents.withLock { contents in
      guard let shown = contents.shown else { preconditionFailure("The engine shows its state at its start.") }
      // A SwiftUI view may ask for a collection each time it is drawn.
      if contents.views.count >= contents.limit {
        contents.views.removeAll { $0.object == nil }
        contents.limit = max(16, 2 * contents.views.count)
      }
      let view = make(shown)
      contents.views.append(View(object: view))
      return view
    }
  }

  /// How many collections are kept.
  var count: Int { contents.withLock(\.views.count) }

  /// Shows a state in all collections. Called by one thread at a time, in order.
  func show(_ shown: Shown) {
    contents.withLock { contents in
      let isRefusedChanged = contents.shown?.refusals != shown.refusals
      contents.shown = shown
      for view in contents.views { view.object?.show(shown) }
      if isRefusedChanged { refused.publish(shown.refused.compactMap { RefusedWrite($0) }) }
    }
  }

  func finish() { refused.finish() }
}
