import LockstepReactor
import LockstepTime

/// The connection, which each change of its state begins again.
extension SyncEngine {
  /// Follows the server until `stop`, or until the task is cancelled.
  func run() async {
    if isRunning { return }
    isRunning = true
    defer { isRunning = false }
    dispatch(.start)
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
      case .idle, .needsLogin, .failed: await untilChange(of: began) { _ in }
      case .stopped: break
      }
    }
    dispatch(.stop)
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

  func dispatch(_ event: ConnectionEvent) {
    let (next, commands) = connection.next(after: event)
    guard next != connection || !commands.isEmpty else { return }
    connection = next
    if commands.contains(where: { $0 != .send }) { epoch.publish(epoch.value + 1) }
    if commands.contains(.send) { writes.publish(writes.value + 1) }
    show(.server)
  }

  func retryTimeHasCome(in began: Int) {
    if epoch.value == began, !Task.isCancelled { dispatch(.time) }
  }
}
