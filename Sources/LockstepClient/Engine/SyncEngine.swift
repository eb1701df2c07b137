import LockstepCollections
import LockstepJSON
import LockstepReactor
import LockstepTime

/// Keeps the copy, the outbox and the connection of a client. Everything that changes them passes through here,
/// one step at a time.
actor SyncEngine: ActionWriter {
  struct Environment: Sendable {
    var transport: any ClientTransport
    var credentials: any ClientCredentials
    var clock: any Clock<Duration>
    var now: @Sendable () -> Timestamp
    var random: @Sendable () -> Double
    var newKey: @Sendable () -> String
  }

  /// How a write has ended.
  typealias Outcome = Result<WriteResult, ClientFailure>

  let environment: Environment
  let store: ClientStore
  let publish: @Sendable (Shown) -> Void
  /// The collections that the client follows, in order; nil for all.
  let followed: [String]?

  /// The state that the client shows after it was opened.
  nonisolated let first: Shown

  var copy = ClientCopy()
  var outbox = Outbox()
  var view: OptimisticView
  var user: String?
  var connection = ConnectionState()
  var outcomes: [Int64: Latest<WriteProgress>] = [:]
  var resolvers: [Int64: Resolver] = [:]
  /// Counts the changes of the connection. A task of an earlier number must end.
  let epoch = Latest(0)
  /// Counts the writes, so that the sender looks again.
  let writes = Latest(0)
  /// The token whose user is known to be `user`.
  var checkedToken: String?
  var storeFailure: ClientFailure?
  var shownCount = 0
  var isRunning = false

  init(
    store: sending ClientStore,
    modules: [UserModule],
    following followed: [String]?,
    _ environment: Environment,
    publish: @escaping @Sendable (Shown) -> Void
  ) throws {
    self.store = store
    self.environment = environment
    self.publish = publish
    self.followed = followed?.sorted()
    view = OptimisticView(modules)
    let contents = try store.read()
    (copy, outbox, user) = (contents.copy, contents.outbox, contents.user)
    if contents.followed != self.followed {
      copy.forgetPosition()
      try store.write(ClientStore.Change(position: .some(nil), owner: .init(user: user, followed: self.followed)))
    }
    view.rebuild(on: copy, outbox)
    first = Shown(sequence: 0, view, copy, outbox, connection, origin: .local, storeFailure: nil)
  }

  // MARK: - The file, and what is shown

  /// Changes a write in the file, and then in memory.
  func change(_ number: Int64, _ body: (inout OutboxEntry) -> Void) throws {
    guard var entry = outbox[number] else { return }
    body(&entry)
    try save(ClientStore.Change(writes: [number: entry]))
    outbox.change(number) { $0 = entry }
  }

  func save(_ change: ClientStore.Change) throws {
    do {
      try store.write(change)
      storeFailure = nil
    } catch {
      storeFailure = ClientFailure("The client's file cannot be written: \(error)")
      throw error
    }
  }

  func rebuild(_ origin: ChangeOrigin) {
    view.rebuild(on: copy, outbox)
    show(origin)
  }

  func show(_ origin: ChangeOrigin) {
    shownCount += 1
    publish(
      Shown(sequence: shownCount, view, copy, outbox, connection, origin: origin, storeFailure: storeFailure)
    )
  }
}
