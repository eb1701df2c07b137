import LockstepAccounts
import LockstepCollections
import LockstepJSON
import LockstepReactor
import LockstepSync

/// What clients know of a screen's reactor: the source of reading its actions, of writing its state and of the catalogue.
struct ScreenDeclaration<R: Reactor>: Sendable {
  let name: String
  let actions: [ActionCase<R.Action>]
  let state: ValueFormat<R.State>
}

/// What the product knows of a kind of screen: how one is opened, what it takes and what it shows.
package struct ScreenKind: Sendable {
  package let name: String
  /// Whether only who is logged in may open one, which belongs to that session then.
  package let needsSession: Bool
  package let actions: JSON
  package let arguments: JSON
  package let state: JSON
  private let makeEngine:
    @Sendable (LiveSession?, _ arguments: JSON, _ stateShown: @escaping @Sendable () -> Void) async throws ->
      any ScreenEngine

  /// A kind of screen that anybody may open.
  static func forAnybody<R>(
    _ declaration: ScreenDeclaration<R>,
    make: @escaping @Sendable () -> R
  ) -> ScreenKind {
    ScreenKind(declaration, needsSession: false, arguments: []) { _, arguments in
      try PayloadReader(arguments).finish()
      return make()
    }
  }

  /// A kind of screen of a session, with the arguments that it's opened with. `make` throws a `Refusal` where there can't be
  /// one.
  static func forSession<R, each Argument: Sendable>(
    _ declaration: ScreenDeclaration<R>,
    _ argument: repeat PayloadField<each Argument>,
    make: @escaping @Sendable (LiveSession, repeat each Argument) async throws -> R
  ) -> ScreenKind {
    var members: [SchemaMember] = []
    repeat members += (each argument).members
    return ScreenKind(declaration, needsSession: true, arguments: members) { session, arguments in
      guard let session else { throw SessionEndedError() }
      var reader = PayloadReader(arguments)
      // Nobody's network matters to what is opened.
      let values = (repeat (each argument).read(&reader, ClientNetwork(host: "")))
      try reader.finish()
      return try await make(session, repeat try present(each values))
    }
  }

  private init<R>(
    _ declaration: ScreenDeclaration<R>,
    needsSession: Bool,
    arguments: [SchemaMember],
    make: @escaping @Sendable (LiveSession?, _ arguments: JSON) async throws -> R
  ) {
    name = declaration.name
    self.needsSession = needsSession
    actions = declaration.actions.catalogue()
    self.arguments = .closedSchema(of: arguments)
    state = declaration.state.schema
    makeEngine = { session, arguments, stateShown in
      HostedScreen(try await make(session, arguments), declaration, stateShown: stateShown)
    }
  }

  /// Makes what a new screen of a session runs on. `stateShown` is told of each new state, by whatever thread shows it. Throws
  /// a `Refusal` where these arguments aren't enough, or where there can't be such a screen.
  func engine(
    for session: LiveSession?,
    arguments: JSON,
    stateShown: @escaping @Sendable () -> Void
  ) async throws -> any ScreenEngine {
    try await makeEngine(session, arguments, stateShown)
  }
}
