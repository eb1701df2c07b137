import LockstepStore

/// Whoever may tell an operator's command to end before it has done its work: a person who types Ctrl-C, a supervisor.
public protocol Interruption: Sendable {
  /// From now on the command isn't ended: that it's told to is only noted.
  func hold()

  /// Whether it has been told to end since `hold()`.
  var hasCome: Bool { get }

  /// The command may be ended again at any moment.
  func release()
}

/// A command was told to end while a server had its order: what holds now.
public enum AdminCommandInterruptedError: Error, Sendable, Equatable {
  /// The order is withdrawn: nobody will carry it out.
  case withdrawn
  /// It was too late: this has become of it.
  case tooLate(AdminCommand.Outcome)
}

extension AdminCommandInterruptedError: CustomStringConvertible {
  /// What holds now.
  public var description: String {
    switch self {
    case .withdrawn: "Interrupted. The order was withdrawn, and nothing was changed."
    case .tooLate(.done): "Interrupted, but too late: the server has done it."
    case .tooLate(.noSuchUser): "Interrupted. There is no such user in the store, and nothing was changed."
    case .tooLate(.addressTaken): "Interrupted. There is a user with this address already, and nothing was changed."
    }
  }
}
