import LockstepAccounts
import LockstepCollections
import LockstepJSON
import LockstepReactor
import LockstepSync

/// Decodes the actions of a screen's reactor, encodes its states, and describes both to clients.
struct ScreenDeclaration<R: Reactor>: Sendable {
  let name: String
  let actions: [ActionCase<R.Action>]
  let state: ValueFormat<R.State>
}

/// A kind of screen: its arguments, its actions and its state.
package struct ScreenKind: Sendable {
  package let name: String
  /// Whether opening a screen needs a session. The screen then belongs to that session.
  package let needsSession: Bool
  /// Whether a client can open such a screen without a link from another screen. True if there are
  /// no arguments.
  let isStart: Bool
  package let actions: JSON
  package let arguments: JSON
  package let state: JSON
  /// Makes the engine of a new screen. Throws a `Refusal` if the arguments are not valid.
  let makeEngine: @Sendable (LiveSession?, _ arguments: JSON, ScreenObserver) async throws -> any ScreenEngine

  /// A kind of screen that any client may open.
  static func withoutSession<R>(
    _ declaration: ScreenDeclaration<R>,
    make: @escaping @Sendable () -> R
  ) -> ScreenKind {
    ScreenKind(declaration, needsSession: false, arguments: []) { _, arguments in
      try PayloadReader(arguments).finish()
      return make()
    }
  }

  /// A kind of screen of a session, with the arguments to open it. `make` may throw a `Refusal`.
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
      // No argument depends on the client's network.
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
    isStart = arguments.isEmpty
    actions = declaration.actions.catalogue()
    self.arguments = .closedSchema(of: arguments)
    state = declaration.state.schema
    makeEngine = { session, arguments, observer in
      HostedScreen(try await make(session, arguments), declaration, observer)
    }
  }
}
