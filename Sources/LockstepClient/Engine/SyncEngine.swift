import LockstepCollections
import LockstepJSON
import LockstepReactor
import LockstepSQLite
import LockstepTime

/// Keeps the copy, the outbox and the connection of a client. Everything that changes them passes through here,
/// one step at a time.
actor SyncEngine: ActionWriter {
  struct Environment: Sendable {
    var transport: any ClientTransport
    var following = Following.polls
    var credentials: any ClientCredentials
    var clock: any Clock<Duration>
    var now: @Sendable () -> Timestamp
    var random: @Sendable () -> Double
    var newKey: @Sendable () -> String
    /// The changes of other processes on the same file; nil without a file.
    var neighbors: StoreNeighbors?
  }

  let environment: Environment
  let store: ClientStore
  let publish: @Sendable (Shown) -> Void
  /// The collections that the client follows, in order; nil for all.
  let followed: [String]?
  /// Distinguishes this client from others on the same file.
  private let name: ProcessName
  var process: String { name.text }

  /// The state that the client shows after it was opened.
  nonisolated let first: Shown

  var copy = ClientCopy()
  var outbox = Outbox()
  var view: OptimisticView
  /// The user, and the logins in all processes on the file.
  var owner = StoreOwner()
  var connection = ConnectionState()
  var outcomes: [Int64: Latest<WriteProgress>] = [:]
  var conditions: [Int64: WriteCondition] = [:]
  /// How many conflicts in a row a write has had.
  var conflicts: [Int64: Int] = [:]
  /// Counts the changes of the connection. A task of an earlier number must end.
  let epoch = Latest(0)
  /// The connection in which the feed has responded last.
  var feedEpoch: Int?
  /// Counts the writes, so that the sender looks again.
  let writes = Latest(0)
  /// Counts the changes for which the view is rebuilt later.
  let staleness = Latest(0)
  /// The token whose user is known to be the owner.
  var checkedToken: String?
  /// The token of the last request. After a 401, another one begins the connection again.
  var refusedToken: String?
  /// Nil before the first response with a time. A clock of the device cannot replace it, because it may be wrong.
  var serverTime: ServerTime?
  /// When the last part of a stream came.
  var lastPartAt = Timestamp(millisecondsSince1970: 0)
  /// How many streams in a row have ended early.
  var shortStreams = 0
  var storeFailure: ClientFailure?
  var shownCount = 0
  var isRunning = false
  /// Counts the ends of `run`.
  let runs = Latest(0)
  /// Whether this process follows the server. Another one on the same file may do so instead.
  var isLeading = false

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
    name = ProcessName(key: environment.newKey())
    view = OptimisticView(modules)
    let contents = try store.read()
    var (copy, outbox, owner) = (ClientCopy(), Outbox(), contents.owner)
    copy.take(contents)
    outbox.take(contents)
    if owner.followed != self.followed {
      let followed = self.followed
      try store.update(at: environment.now()) { news in
        if let news {
          copy.take(news)
          outbox.take(news)
          owner = news.owner
        }
        owner.followed = followed
        return StoreChange(position: .some(nil), owner: owner)
      }
      copy.forgetPosition()
    }
    (self.copy, self.outbox, self.owner) = (copy, outbox, owner)
    view.rebuild(on: copy, outbox)
    first = Shown(sequence: 0, view, copy, outbox, connection, origin: .local, storeFailure: nil)
  }

  /// Ends the tasks that wait for writes.
  deinit {
    for progress in outcomes.values { progress.finish() }
  }

  // MARK: - The file

  /// Takes over the changes of other processes, and then changes the file. `make` returns the change. The caller
  /// changes the memory afterwards. If this throws, the file has not changed.
  ///
  /// With `sync`, the change is on disk when this returns. A response of the server needs no `sync`: after a power
  /// failure, the client gets it again.
  func update(sync: Bool = true, _ make: () throws -> StoreChange?) throws {
    var (isChanged, hasNews, before) = (false, false, owner.logins)
    defer {
      if hasNews { showNews(since: before) }
      if isChanged { environment.neighbors?.notify() }
    }
    do {
      try store.update(at: environment.now(), sync: sync) { contents in
        if let contents {
          (hasNews, before) = (true, owner.logins)
          take(contents)
        }
        let change = try make()
        isChanged = change?.isEmpty == false
        return change
      }
      storeFailure = nil
    } catch {
      isChanged = false
      guard error is SQLiteError else { throw error }
      storeFailure = .store(error)
      throw LockstepClientError(error)
    }
  }

  /// Closes the file until the next use, so that the process has no locks on it.
  func closeFile() { store.close() }

  /// Takes over what other processes have changed.
  func takeNews() throws {
    guard let contents = try store.newContents() else { return }
    let before = owner.logins
    take(contents)
    showNews(since: before)
  }

  private func take(_ contents: StoreContents) {
    if contents.owner.logins != owner.logins { checkedToken = nil }
    let isOther = owner.user != nil && contents.owner.user != owner.user
    (owner.user, owner.logins) = (contents.owner.user, contents.owner.logins)
    owner.isLoggedOut = contents.owner.isLoggedOut
    copy.take(contents)
    outbox.take(contents)
    for (number, outcome) in contents.outcomes { settle(number, outcome) }
    if isOther { settleAll(.deleted) }
    for number in outcomes.keys where outbox[number] == nil {
      settle(
        number,
        .failure(
          ClientFailure(
            .uncertain,
            "Another process has sent this write. Its result is not known any more."
          )
        )
      )
    }
    if isRunning, !isLeading, let theirs = contents.connection { connection = theirs }
  }

  private func showNews(since before: Int) {
    // Without `run`, nothing rebuilds the view later.
    if isRunning { rebuildSoon() } else { rebuild(.server) }
    if outbox.waiting > 0 { writes.publish(writes.value + 1) }
    if owner.logins != before { dispatch(.login) }
  }

  /// Changes a write in the file, and then in memory, unless another process has sent or cancelled it.
  func change(_ number: Int64, _ body: (inout OutboxEntry) -> Void) throws {
    var changed: OutboxEntry?
    try update {
      guard var entry = outbox[number], entry.isWaiting else { return nil }
      body(&entry)
      changed = entry
      return StoreChange(writes: [number: entry])
    }
    if let changed { outbox.put(changed) }
  }

  // MARK: - Showing

  /// With more writes than this, the view is not rebuilt after each response.
  private static let shortOutbox = 500
  /// The longest pause between two rebuilds, in milliseconds.
  private static let longestStaleness: Int64 = 2_000

  /// Rebuilds the view. After a response, this may happen later.
  func rebuildSoon() {
    if outbox.entries.count <= Self.shortOutbox { return rebuild(.server) }
    staleness.publish(staleness.value + 1)
    show(.server)
  }

  /// Rebuilds the view of a long outbox. After each time it pauses four times as long, up to
  /// `longestStaleness`.
  func rebuildRepeatedly() async {
    for await number in staleness.values where number > 0 {
      let began = environment.now()
      rebuild(.server)
      // If the device was asleep meanwhile, the measured time is too long.
      let pause = min(max(0, environment.now().milliseconds(since: began) * 4), Self.longestStaleness)
      guard (try? await environment.clock.sleep(for: .milliseconds(pause))) != nil else { return }
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
