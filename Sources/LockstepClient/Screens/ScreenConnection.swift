import LockstepReactor
import LockstepTime

/// Opens a screen of the server, follows it, sends it actions, and closes it.
///
/// The responses to polls and to actions come on different connections, so an older state could arrive after a newer
/// one. A cursor does not say which state is newer. So the client shows a response only if it has shown no other one
/// since it sent the request. Then the server has read this state after all states that the client has shown before.
actor ScreenConnection<Action: ScreenAction, State: Decodable & Equatable & Sendable> {
  /// A screen that the server has opened.
  struct Opened: Sendable {
    let href: String
    /// Nil: the screen was opened without a login, and belongs to no session.
    let token: String?
    let user: String?
    var cursor: String
    /// Whether the server has responded to a request about it.
    var wasFound = false

    /// Whether the screen may be restored for a user. If that is not certain, it may be the screen of another user.
    func belongs(to token: String?, _ user: String?) -> Bool {
      self.token == nil || self.token == token || (self.user != nil && self.user == user)
    }
  }

  let place: ScreenPlace
  let queue: ScreenQueue<Action>
  let outputs: ScreenOutputs<Action, State>
  let restore: (@Sendable (_ last: State, _ new: State) -> [Action])?
  let environment: ScreenEnvironment

  var connection = ConnectionState()
  /// Counts the changes of the connection. A task of an earlier number must end.
  let epoch = Latest(0)
  var screen: Opened?
  /// Counts the screens that were opened.
  var openings = 0
  /// The key of the request that opens a screen, until it gets a response.
  var openingKey: String?
  /// The actions that restore the lost screen. Until the server has performed them, no state is shown.
  var restoring: ScreenQueue<Action>.Batch?
  /// The lost screen that the next one replaces.
  var lostScreen: Opened?
  /// Counts the responses that were shown.
  var shownResponses = 0
  /// How many screens in a row ended before any request about them was successful.
  var shortLives = 0
  /// The token that the server has refused, or that had no right to open the screen.
  var refusedToken: String?
  /// The last token with which a screen was to be opened.
  var openingToken: String?
  private var hasRun = false

  init(
    _ place: ScreenPlace,
    _ queue: ScreenQueue<Action>,
    _ outputs: ScreenOutputs<Action, State>,
    restoring restore: (@Sendable (_ last: State, _ new: State) -> [Action])?,
    _ environment: ScreenEnvironment
  ) {
    (self.place, self.queue, self.outputs) = (place, queue, outputs)
    (self.restore, self.environment) = (restore, environment)
  }

  func run() async {
    if hasRun { return }
    hasRun = true
    dispatch(.start)
    while !Task.isCancelled {
      let began = epoch.value
      await untilChange(of: began) { connection in
        switch connection.connection.phase {
        case .connecting, .live: await connection.drive(in: began)
        case .offline: await connection.waitForRetry(in: began)
        case .idle, .needsLogin, .failed, .stopped: await connection.waitForLogin(in: began)
        }
      }
    }
    dispatch(.stop)
    queue.close()
    close()
    outputs.finish()
  }

  /// Runs `body`, and cancels it when the connection changes. Returns after the change.
  private func untilChange(of began: Int, _ body: @escaping @Sendable (isolated ScreenConnection) async -> Void) async {
    await withTaskGroup(of: Void.self) { group in
      guard group.addTaskUnlessCancelled(operation: { await body(self) }) else { return }
      for await present in epoch.values where present != began { break }
      group.cancelAll()
    }
  }

  private func drive(in began: Int) async {
    do {
      try await open(in: began)
      guard isCurrent(began), screen != nil else { return }
      await withTaskGroup(of: Void.self) { group in
        group.addTask { await self.follow(in: began) }
        group.addTask { await self.sendAll(in: began) }
        group.addTask { await self.restartWithClient(in: began) }
      }
    } catch {
      noteError(error, in: began)
    }
  }

  /// Begins again when the client's own connection does, such as after the device was asleep. A poll may be dead
  /// without a sign then.
  private func restartWithClient(in began: Int) async {
    let present = environment.changes.value
    for await value in environment.changes.values where value != present {
      if isCurrent(began) { restart() }
      return
    }
  }

  /// Tries again when the time has come, or when the client's own connection has changed.
  private func waitForRetry(in began: Int) async {
    let pause = (connection.retryAt ?? now).milliseconds(since: now)
    await sleep(milliseconds: pause)
    if isCurrent(began) { dispatch(.time) }
  }

  /// Tries again with another token.
  private func waitForLogin(in began: Int) async {
    while isCurrent(began) {
      await sleep(milliseconds: 2_000)
      // An error of the credentials is not a logout.
      guard isCurrent(began), let found = try? Optional.some(await token()) else { continue }
      if let token = found, token != refusedToken { return dispatch(.login) }
      if found == nil, let old = screen, old.token != nil { hide() }
    }
  }

  /// Ends early if the client's own connection changes, such as after a login.
  private func sleep(milliseconds: Int64) async {
    let (clock, changes) = (environment.client.clock, environment.changes)
    let present = changes.value
    await withTaskGroup(of: Void.self) { group in
      group.addTask { try? await clock.sleep(for: .milliseconds(max(0, milliseconds))) }
      group.addTask { for await value in changes.values where value != present { return } }
      await group.next()
      group.cancelAll()
    }
  }

  // MARK: - The connection

  var now: Timestamp { environment.client.now() }

  func token() async throws -> String? { try await environment.client.token() }

  /// Whether a task of the connection `began` may go on.
  func isCurrent(_ began: Int) -> Bool { epoch.value == began && !Task.isCancelled }

  func dispatch(_ event: ConnectionEvent) {
    let (next, commands) = connection.next(after: event)
    guard next != connection || !commands.isEmpty else { return }
    connection = next
    if commands.contains(where: { $0 != .send }) { restart() }
    showStatus()
  }

  /// Ends the tasks of the present connection, and begins others.
  func restart() { epoch.publish(epoch.value + 1) }

  func showStatus() {
    var status = ScreenStatus()
    status.connection = ClientStatus.Connection(connection.phase)
    (status.openings, status.failure) = (openings, connection.failure)
    outputs.statuses.publish(status)
  }

  func noteError(_ error: any Error, in began: Int) {
    if isCurrent(began) { lost(ClientFailure(of: error)) }
  }

  /// The server does not respond: the client waits, and tries again.
  func lost(_ failure: ClientFailure, after least: Duration = .zero) {
    let random = environment.client.random()
    dispatch(.noResponse(retryAt: connection.retryTime(now: now, random: random, after: least), failure))
  }

  /// Changes the connection after a response other than a success.
  func noteFailure(_ response: ClientResponse) {
    let failure = ClientFailure(response)
    switch response.status {
    // Such a response may come from a proxy in front of the server.
    case _ where response.problem == nil: lost(failure, after: response.retryAfter)
    case 401: dispatch(.unauthorized(failure))
    case 408, 425, 429, 500...: lost(failure, after: response.retryAfter)
    case 409 where response["Retry-After"] != nil: lost(failure, after: response.retryAfter)
    default: dispatch(.refused(failure))
    }
  }
}
