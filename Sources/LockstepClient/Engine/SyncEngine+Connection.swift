import LockstepReactor
import LockstepTime

/// The connection, which each change of its state begins again.
extension SyncEngine {
  /// The time of a lease, in milliseconds. If the process that follows the server is suspended, another process takes
  /// over after this time.
  private static let lease: Int64 = 60_000
  /// How often the other processes check whether that process was killed, in milliseconds.
  private static let leaseCheck: Int64 = 5_000

  /// Follows the server until the task is cancelled. If another call runs, waits until that call has ended.
  func run() async {
    while isRunning {
      let ends = runs.value
      for await present in runs.values where present != ends { break }
      if Task.isCancelled { return }
    }
    isRunning = true
    defer {
      isRunning = false
      runs.publish(runs.value + 1)
    }
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await self.takeNewsRepeatedly() }
      group.addTask { await self.rebuildRepeatedly() }
      group.addTask { await self.lead() }
      // All end by cancellation only.
      await group.waitForAll()
    }
    closeFile()
    guard connection.phase != .stopped else { return }
    // Another process has followed the server.
    connection = ConnectionState(phase: .stopped)
    show(.server)
  }

  /// Follows the server while no other process does.
  private func lead() async {
    while !Task.isCancelled {
      guard let end = renewLease() else {
        await followServer()
        continue
      }
      try? takeNews()
      if let theirs = try? store.leader()?.connection, theirs != connection {
        connection = theirs
        show(.server)
      }
      await untilNewsOr(end)
    }
  }

  /// Begins or renews the lease of this process. If another process has the lease, returns when that lease ends. Nil:
  /// this process has the lease.
  private func renewLease() -> Timestamp? {
    let now = environment.now()
    let until = Timestamp(millisecondsSince1970: now.millisecondsSince1970 + Self.lease)
    do {
      return try store.lead(as: process, from: now, until: until)
    } catch {
      // A file that cannot be written must not keep the client from following the server.
      storeFailure = .store(error)
      return nil
    }
  }

  private func followServer() async {
    isLeading = true
    if connection.phase != .idle { connection = ConnectionState() }
    dispatch(.start)
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await self.renewLeaseRepeatedly() }
      group.addTask { await self.wakeWhenNetworkReturns() }
      group.addTask { await self.wakeAfterSleep() }
      group.addTask { await self.followConnections() }
      // The lease or the connection has ended. The other tasks never end by themselves.
      await group.next()
      group.cancelAll()
    }
    // Not in the file, because another process may follow the server by now.
    isLeading = false
    connection = connection.next(after: .stop).0
    epoch.publish(epoch.value + 1)
    show(.server)
    try? store.stopLeading(as: process)
    environment.neighbors?.notify()
  }

  /// Returns when another process has taken over. A process whose requests the server refuses ends its lease, because
  /// another process may have a valid token.
  private func renewLeaseRepeatedly() async {
    while (try? await environment.clock.sleep(for: .milliseconds(Self.lease / 3))) != nil {
      if [.needsLogin, .failed].contains(connection.phase) {
        if let leader = try? store.leader(), leader.process != process { return }
        try? store.stopLeading(as: process)
        environment.neighbors?.notify()
      } else if renewLease() != nil {
        return
      }
    }
  }

  private func followConnections() async {
    while !Task.isCancelled, connection.phase != .stopped {
      let began = epoch.value
      switch connection.phase {
      case .connecting, .live:
        await untilChange(of: began) { engine in
          await withTaskGroup(of: Void.self) { group in
            group.addTask { await engine.follow(in: began) }
            group.addTask { await engine.sendAll(in: began) }
          }
        }
      case .offline:
        let pause = (connection.retryAt ?? environment.now()).milliseconds(since: environment.now())
        await untilChange(of: began) { engine in
          // Fails only if the connection has changed meanwhile.
          guard (try? await engine.environment.clock.sleep(for: .milliseconds(max(0, pause)))) != nil else { return }
          await engine.retryTimeHasCome(in: began)
        }
      case .needsLogin: await untilChange(of: began) { await $0.waitForToken(in: began) }
      case .idle, .failed: await untilChange(of: began) { _ in }
      case .stopped: break
      }
    }
  }

  /// Begins the connection again when there is another token than the refused one, which the app may have got
  /// elsewhere.
  private func waitForToken(in began: Int) async {
    while (try? await environment.clock.sleep(for: .seconds(5))) != nil {
      guard let token = (try? await environment.token()) ?? nil, token != refusedToken else { continue }
      if epoch.value == began, !Task.isCancelled { dispatch(.login) }
      return
    }
  }

  /// Runs `body`, and cancels it when the connection changes. Returns after the change.
  func untilChange(of began: Int, _ body: @escaping @Sendable (SyncEngine) async -> Void) async {
    await withTaskGroup(of: Void.self) { group in
      let work = group.addTaskUnlessCancelled { await body(self) }
      guard work else { return }
      for await present in epoch.values where present != began { break }
      group.cancelAll()
    }
  }

  /// Changes the state of the connection. Other processes on the same file show it too.
  func dispatch(_ event: ConnectionEvent) {
    // The connection is that of the process that follows the server.
    if isRunning, !isLeading { return }
    let (next, commands) = connection.next(after: event)
    guard next != connection || !commands.isEmpty else { return }
    connection = next
    if commands.contains(where: { $0 != .send }) { epoch.publish(epoch.value + 1) }
    if commands.contains(.send) { writes.publish(writes.value + 1) }
    if isLeading, environment.neighbors != nil { try? update(sync: false) { StoreChange(connection: (next, process)) } }
    show(.server)
  }

  func retryTimeHasCome(in began: Int) {
    if epoch.value == began, !Task.isCancelled { dispatch(.time) }
  }

  // MARK: - Waking up

  /// Begins the connection again, because the old one may be dead without a sign.
  func wake() { dispatch(.wake) }

  /// Tries again at once if the server did not respond before.
  func tryNow() { dispatch(.visible) }

  private func wakeWhenNetworkReturns() async {
    for await _ in NetworkPaths.returns where connection.phase == .offline { wake() }
    await untilCancelled()
  }

  /// Notices that the device was asleep or the process suspended, because a short pause took long.
  private func wakeAfterSleep() async {
    while true {
      let before = environment.now()
      guard (try? await environment.clock.sleep(for: .seconds(10))) != nil else { return }
      if environment.now().milliseconds(since: before) > 25_000 { wake() }
    }
  }

  // MARK: - Other processes

  private func takeNewsRepeatedly() async {
    guard let changes = environment.neighbors?.changes else { return await untilCancelled() }
    for await _ in changes() { try? takeNews() }
    await untilCancelled()
  }

  /// Waits until the lease of another process has ended, or may have ended.
  private func untilNewsOr(_ end: Timestamp) async {
    let pause = min(max(1, end.milliseconds(since: environment.now())), Self.leaseCheck)
    await withTaskGroup(of: Void.self) { group in
      group.addTask { [environment] in try? await environment.clock.sleep(for: .milliseconds(pause)) }
      if let changes = environment.neighbors?.changes {
        group.addTask { for await _ in changes() where await self.canLead { return } }
      }
      await group.next()
      group.cancelAll()
    }
  }

  private var canLead: Bool {
    do { return try store.leader() == nil } catch { return false }
  }

  private func untilCancelled() async {
    let never = Latest(0)
    for await _ in never.values {}
  }
}
