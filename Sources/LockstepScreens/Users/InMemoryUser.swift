import LockstepCollections
import LockstepJSON
import LockstepModules
import LockstepReactor
import LockstepThreading
import LockstepTime

/// A user whose state is in memory and is changed by the modules' own reactors, for tests of screens
/// without a server.
///
///     let ada = InMemoryUser([.list(Shopping())], clock: clock, delay: .seconds(1))
///     let test = TestReactor(ShoppingForm(user: ada.screenUser, …), clock: clock)
///
/// The user also has the modules `favorites`, `defaults` and `profile`.
public final class InMemoryUser: Sendable {
  private struct Contents: Sendable {
    var modules: [UserModule]
    var state = UserState()
    var performed: [ModuleAction] = []
    var error: StateChangeError?
  }

  /// The user's id.
  public let id: UserID
  private let now: @Sendable () -> Timestamp
  private let clock: (any Clock<Duration>)?
  private let delay: Duration
  private let contents: LockedState<Contents>
  private let subject = DispatchSubject<UserSnapshot?>()

  /// A user without a state.
  ///
  /// - Parameters:
  ///   - modules: The program's own modules.
  ///   - clock: The clock of `delay`, such as a virtual one.
  ///   - delay: How long each change by the screen takes.
  ///   - now: The time of the transactions.
  public init(
    _ modules: [UserModule] = [],
    clock: (any Clock<Duration>)? = nil,
    delay: Duration = .zero,
    now: @escaping @Sendable () -> Timestamp = { Timestamp(millisecondsSince1970: 0) }
  ) {
    id = UserID(UUIDv7(milliseconds: 0, random12: 0, random62: 0))
    let builtIn: [UserModule] = [.favorites(), DefaultsModule(quota: DefaultsQuota()).userModule, .profile]
    contents = LockedState(Contents(modules: builtIn + modules))
    self.now = now
    self.clock = clock
    self.delay = delay
  }

  /// Declares a collection, as an administrator does with `PUT /v1/admin/collections/{name}`. The
  /// declaration has the member `name`. Throws a `Refusal` if it is invalid.
  public func declare(_ declaration: JSON) throws {
    let module = UserModule.declared(try DeclaredCollection(declaration))
    contents.withLock { $0.modules = $0.modules.filter { $0.name != module.name } + [module] }
  }

  /// The user as a screen's reactor gets it. It follows all collections.
  public var screenUser: ScreenUser {
    let published = PublishedStates(of: subject)
    let names = Set(contents.withLock(\.modules).map { CollectionName(text: $0.name) } + [Suite.collection("standard")])
    let found = UserSnapshot(contents.withLock { $0.state.collections }, names)
    return ScreenUser(id, FollowedState(published: published, found: found, names: names)) { [self] actions in
      if let clock, delay > .zero { try await clock.sleep(for: delay) }
      try contents.withLock { contents throws(StateChangeError) in
        contents.performed += actions
        if let error = contents.error { throw error }
      }
      try change(actions)
    }
  }

  /// The actions that the screen has performed or tried to perform, in order.
  public var performed: [ModuleAction] { contents.withLock { $0.performed } }

  /// From now on, changes by the screen fail with this error, or succeed if it is `nil`.
  public func fail(with error: StateChangeError?) { contents.withLock { $0.error = error } }

  /// Changes the state at once, as another device does.
  public func change(_ module: String, _ type: String, _ payload: JSON = [:]) throws(StateChangeError) {
    try change([ModuleAction(module, type, payload)])
  }

  private func change(_ actions: [ModuleAction]) throws(StateChangeError) {
    do {
      let state = try contents.withLock { contents in
        var state = contents.state
        let modules = contents.modules
        let revision = state.revision.next(in: Era(random: 0))
        for action in actions {
          let read = try action.read { name in modules.first { $0.name == name } }
          let context = ActionContext(state: state, registered: RegisteredDefaults(), now: now())
          let mutations = try read.decide(context)
          guard let module = modules.first(where: { $0.name == action.module }), !mutations.isEmpty else { continue }
          _ = state.reduce(mutations, in: read.collection, by: module.reducer, revision: revision)
          state.revision = revision
        }
        contents.state = state
        return state
      }
      subject.dispatch(UserSnapshot(state.collections, Set(state.collections.keys)))
    } catch {
      throw StateChangeError(error)
    }
  }
}
