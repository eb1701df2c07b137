import LockstepJSON
import LockstepReactor

extension LockstepClient {
  /// A screen of the server, as a view model. Call `run()` of the result while the view is visible.
  ///
  /// - Parameters:
  ///   - name: The name in the server's catalogue, such as `workingHistory`.
  ///   - arguments: The arguments of the screen, such as `["photoId": "photo:1"]`.
  ///   - state: The state until the server has opened the screen.
  ///   - actions: The type of the actions.
  ///   - capacity: How many actions may wait for the server.
  ///   - restore: Returns the actions that bring a new screen to the last state of a lost one: see ``RemoteScreen``.
  /// - Returns: The screen. The server opens it when the screen runs.
  public func screen<Action, State>(
    _ name: String,
    arguments: JSONObject = [:],
    initially state: State,
    actions: Action.Type = Action.self,
    capacity: Int = 256,
    restoring restore: (@Sendable (_ last: State, _ new: State) -> [Action])? = nil
  ) -> RemoteScreen<Action, State> {
    RemoteScreen(
      ScreenPlace(name: name, arguments: arguments),
      initially: state,
      capacity: capacity,
      restoring: restore,
      ScreenEnvironment(environment, engine)
    )
  }

  /// The screen that a link in the state of another screen leads to, such as `route.href`.
  public func screen<Action, State>(
    at href: String,
    initially state: State,
    actions: Action.Type = Action.self,
    capacity: Int = 256,
    restoring restore: (@Sendable (_ last: State, _ new: State) -> [Action])? = nil
  ) -> RemoteScreen<Action, State> {
    RemoteScreen(
      ScreenPlace(href: href),
      initially: state,
      capacity: capacity,
      restoring: restore,
      ScreenEnvironment(environment, engine)
    )
  }

  /// Keeps the token of a session that was opened elsewhere, such as on the server's screen `login`. If another user
  /// was logged in before, the client deletes the copy and the writes of that user. Throws a `ClientFailure` if the
  /// server refuses the token or does not respond.
  public func logIn(token: String) async throws { try await engine.adopt(token) }
}

extension SyncEngine {
  /// The user of a token, if the client knows it.
  func user(of token: String) -> String? { token == checkedToken ? owner.user : nil }
}

/// The parts of a client that a remote screen uses.
struct ScreenEnvironment: Sendable {
  let client: SyncEngine.Environment
  /// Publishes a value when the client's connection changes, such as after a login.
  let changes: Latest<Int>
  /// The user of a token, if the client knows it.
  let user: @Sendable (_ token: String) async -> String?

  init(_ client: SyncEngine.Environment, _ engine: SyncEngine) {
    self.client = client
    changes = engine.epoch
    user = { await engine.user(of: $0) }
  }
}

/// How to open a screen.
struct ScreenPlace: Sendable {
  let target: String
  let body: [UInt8]?

  init(name: String, arguments: JSONObject) {
    target = "/v1/reactors/\(name.percentEncoded)"
    body = arguments.isEmpty ? nil : JSON.object(["arguments": .object(arguments)]).encoded()
  }

  /// A link has the arguments in its query.
  init(href: String) { (target, body) = (href, nil) }
}
