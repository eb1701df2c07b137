import LockstepAccounts
import LockstepCollections
import LockstepJSON
import LockstepSync

/// The user of a screen: reads the user's state, and performs actions of modules for the user.
public struct ScreenUser: Sendable {
  /// The user's id.
  public let id: UserID
  private let followed: FollowedState
  private let performing: @Sendable ([ModuleAction]) async throws -> Void

  package init(
    _ id: UserID,
    _ followed: FollowedState,
    perform: @escaping @Sendable ([ModuleAction]) async throws -> Void
  ) {
    self.id = id
    self.followed = followed
    performing = perform
  }

  /// The newest committed state.
  public var state: UserSnapshot { followed.latest }

  /// The states that are committed after the screen was opened, by any device. A slow reader misses
  /// states, but never the latest. Merge them in the reactor's `transform(mutation:)`:
  ///
  ///     mutation.merging(user.states) { .items($0.list(Shopping.self)) }
  public var states: UserSnapshots { UserSnapshots(followed) }

  /// Performs an action of a module, as `POST /v1/actions` does. When this returns, the action is
  /// committed, and `state` includes it.
  public func perform(_ module: String, _ type: String, _ payload: JSON = [:]) async throws(StateChangeError) {
    try await perform([ModuleAction(module, type, payload)])
  }

  /// Performs several actions in order: all of them, or none.
  public func perform(_ actions: [ModuleAction]) async throws(StateChangeError) {
    do {
      try await performing(actions)
    } catch {
      throw StateChangeError(error)
    }
  }
}

/// An action of a module.
public struct ModuleAction: Sendable {
  /// The module's name.
  public let module: String
  /// The type of the action.
  public let type: String
  /// The payload of the action.
  public let payload: JSON

  /// An action of a module.
  public init(_ module: String, _ type: String, _ payload: JSON = [:]) {
    self.module = module
    self.type = type
    self.payload = payload
  }
}

/// Why actions of modules changed nothing.
public enum StateChangeError: Error, Sendable, Equatable, CustomStringConvertible {
  /// A module refused its action.
  case refused(Refusal)
  /// The session has ended.
  case sessionEnded
  /// The store cannot be written at the moment, or the server has too much work. The reason is for
  /// the operator.
  case unavailable(reason: String)

  package init(_ error: any Error) {
    self =
      switch (error as? ActionRefusal)?.refusal ?? error {
      case let error as StateChangeError: error
      case let refusal as Refusal: .refused(refusal)
      case is SessionEndedError: .sessionEnded
      default: .unavailable(reason: "\(error)")
      }
  }

  /// A sentence for users, in English.
  public var message: String {
    switch self {
    case .refused(.invalid(let faults)): faults.map(\.detail).joined(separator: " ")
    case .refused(.notFound(let detail)), .refused(.forbidden(let detail)), .refused(.conflict(let detail)),
      .refused(.quotaExceeded(let detail)):
      detail
    case .sessionEnded: "The session has ended. Log in again."
    case .unavailable: "The change cannot be saved at the moment. Try again."
    }
  }

  /// Whether the same actions may succeed later.
  public var mayPass: Bool {
    if case .unavailable = self { true } else { false }
  }

  /// For logs.
  public var description: String {
    if case .unavailable(let reason) = self { reason } else { message }
  }
}

/// Opens and changes the states of users for screens.
package protocol ScreenUsers: Sendable {
  /// The user of a session, with these collections of the user's state, and the user default
  /// `language`: the user's own value and the registered one. The writes of the user share the limits of
  /// `network`, from which the client opened the screen.
  func open(
    for session: LiveSession,
    from network: ClientNetwork,
    following names: Set<CollectionName>
  ) async throws -> (user: ScreenUser, language: UserLanguage)
}

/// The user default `language`.
package struct UserLanguage: Sendable, Equatable {
  /// The value that the user has set.
  package var own: String?
  /// The value that an administrator has registered for all users.
  package var registered: String?

  package init(own: String? = nil, registered: String? = nil) { (self.own, self.registered) = (own, registered) }

  /// The tags in the order of their weight. `accepted` are those of `Accept-Language`. They are a choice
  /// of the user, so they count more than the registered tag, which is a choice of the app.
  func tags(_ accepted: [String]) -> [String] {
    [own].compactMap(\.self) + accepted + [registered].compactMap(\.self)
  }
}
