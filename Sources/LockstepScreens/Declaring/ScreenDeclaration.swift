import LockstepAccounts
import LockstepCollections
import LockstepJSON
import LockstepReactor
import LockstepSync
import LockstepTime

/// A kind of screen: its name, its arguments, its actions, its state, and the reactor of a new screen.
/// From this declaration the server makes the screen's routes, and its entries in the catalogue, in
/// OpenAPI and in the inspector.
///
/// Declare your own screens with `ScreenDeclaration.user(…)` or `ScreenDeclaration.anonymous(…)`.
public struct ScreenDeclaration: Sendable {
  /// The name, which is also part of the path that opens a screen: `/v1/reactors/<name>`.
  public let name: String
  /// Whether opening a screen needs a session. The screen then belongs to that session.
  package let needsSession: Bool
  /// Whether a client can open such a screen without a link from another screen. True if no argument
  /// is required.
  package let isStart: Bool
  /// The collections of the user that the screen reads.
  package let follows: [String]
  /// Those that are declared without code. The server may not have them yet.
  package let followsDeclared: [String]
  package let actions: JSON
  package let arguments: JSON
  package let state: JSON
  /// A phrase about a member that its state, its arguments or one of its actions has twice.
  package let repetition: String?
  /// Makes the engine of a new screen. Throws a `Refusal` if the arguments are not valid.
  let makeEngine: @Sendable (ScreenOpening, ScreenEnvironment, ScreenObserver) async throws -> any ScreenEngine

  /// A kind of screen for users. A screen belongs to the session that opened it.
  ///
  /// - Parameters:
  ///   - name: A lower-case letter, then up to 63 letters, digits, `_` or `-`.
  ///   - argument: The arguments that a client gives when it opens a screen, in the query or in the
  ///     body.
  ///   - follows: The collections of the user that the screen reads, such as `favorites`, `profile`
  ///     or `defaults/standard`. `ScreenUser.state` has these collections only.
  ///   - followsDeclared: The declared collections that the screen reads too, such as `playlist`.
  ///     While no administrator has declared one, it is empty, and its actions are refused.
  ///   - actions: The actions that clients can send.
  ///   - state: How clients get the state.
  ///   - reactor: Makes the reactor of a new screen. It may throw a `Refusal` to decline the
  ///     arguments.
  /// - Returns: The declaration. A server reports a mistake in it when it starts.
  public static func user<R: Reactor, each Argument: Sendable>(
    _ name: String,
    _ argument: repeat PayloadField<each Argument>,
    follows: [String] = [],
    followsDeclared: [String] = [],
    actions: [ActionCase<R.Action>],
    state: ValueFormat<R.State>,
    reactor: @escaping @Sendable (ScreenContext, ScreenUser, repeat each Argument) async throws -> R
  ) -> ScreenDeclaration {
    var members: [SchemaMember] = []
    repeat members += (each argument).members
    let names = Set((follows + followsDeclared).map { CollectionName(text: $0) })
    return ScreenDeclaration(
      name,
      needsSession: true,
      arguments: members,
      follows: follows,
      followsDeclared: followsDeclared,
      actions: actions,
      state: state
    ) { opening, environment, errors in
      guard let session = opening.session else { throw SessionEndedError() }
      var reader = PayloadReader(opening.arguments)
      // No argument depends on the client's network.
      let values = (repeat (each argument).read(&reader, ClientNetwork(host: "")))
      try reader.finish()
      let arguments = (repeat try present(each values))
      let (user, language) = try await environment.users.open(
        for: session,
        from: opening.network,
        following: names
      )
      let screen = environment.context(language.tags(opening.languages), errors)
      return try await reactor(screen, user, repeat each arguments)
    }
  }

  /// A kind of screen that any client may open. A screen belongs to every client that knows its id.
  /// The parameters are those of a screen for users.
  public static func anonymous<R: Reactor, each Argument: Sendable>(
    _ name: String,
    _ argument: repeat PayloadField<each Argument>,
    actions: [ActionCase<R.Action>],
    state: ValueFormat<R.State>,
    reactor: @escaping @Sendable (ScreenContext, repeat each Argument) async throws -> R
  ) -> ScreenDeclaration {
    var members: [SchemaMember] = []
    repeat members += (each argument).members
    return ScreenDeclaration(
      name,
      needsSession: false,
      arguments: members,
      follows: [],
      actions: actions,
      state: state
    ) { opening, environment, errors in
      var reader = PayloadReader(opening.arguments)
      let values = (repeat (each argument).read(&reader, ClientNetwork(host: "")))
      try reader.finish()
      return try await reactor(environment.context(opening.languages, errors), repeat try present(each values))
    }
  }

  private init<R: Reactor>(
    _ name: String,
    needsSession: Bool,
    arguments: [SchemaMember],
    follows: [String],
    followsDeclared: [String] = [],
    actions: [ActionCase<R.Action>],
    state: ValueFormat<R.State>,
    reactor: @escaping @Sendable (ScreenOpening, ScreenEnvironment, ErrorAction) async throws -> R
  ) {
    self.name = name
    self.needsSession = needsSession
    isStart = !arguments.contains(where: \.isRequired)
    (self.follows, self.followsDeclared) = (follows, followsDeclared)
    self.actions = actions.catalogue()
    self.arguments = .closedSchema(of: arguments)
    self.state = state.schema
    repetition =
      if let member = state.repeatedMember {
        "its state has the member “\(member)” twice."
      } else if let member = arguments.repeatedMember {
        "it has the argument “\(member.dropFirst())” twice."
      } else if let (type, member) = actions.repeatedPayloadMember() {
        "the payload of its action “\(type)” has the member “\(member)” twice."
      } else {
        nil
      }
    makeEngine = { opening, environment, observer in
      let errors = ErrorAction(observer.failed)
      let reactor = try await reactor(opening, environment, errors)
      return HostedScreen(reactor, actions, state, errors, changed: observer.changed)
    }
  }
}

/// A client's request to open a screen.
package struct ScreenOpening: Sendable {
  /// Nil if the kind of screen needs no session.
  package var session: LiveSession?
  package var network: ClientNetwork
  package var arguments: JSON = [:]
  /// The languages that the client prefers, as tags, the best first.
  package var languages: [String] = []

  package init(
    session: LiveSession? = nil,
    network: ClientNetwork,
    arguments: JSON = [:],
    languages: [String] = []
  ) {
    self.session = session
    self.network = network
    self.arguments = arguments
    self.languages = languages
  }
}

/// The services that all screens of a server share.
package struct ScreenEnvironment: Sendable {
  package var users: any ScreenUsers
  package var clock: any Clock<Duration>
  package var now: @Sendable () -> Timestamp

  package init(users: any ScreenUsers, clock: any Clock<Duration>, now: @escaping @Sendable () -> Timestamp) {
    self.users = users
    self.clock = clock
    self.now = now
  }

  func context(_ languages: [String], _ errors: ErrorAction) -> ScreenContext {
    ScreenContext(clock: clock, now: now, languages: languages) { error, part in
      errors.report(ScreenFailure(origin: part, error: error))
    }
  }
}
