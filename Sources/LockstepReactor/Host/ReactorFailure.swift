/// A failure of an effect or of a merged stream. The reactor itself continues.
public struct ReactorFailure<Action: Sendable>: Error {
  /// Where a failure came from.
  public enum Origin: Sendable {
    /// The effect of this action failed. The mutations that were reduced before the failure stay
    /// in the state.
    case action(Action)
    /// A stream merged by `transform(action:)`. After ``MergedActionRefusal`` or
    /// ``EventsLostError`` the stream continues; any other error has ended it.
    case actionStream
    /// A stream merged by `transform(mutation:)`. It continues only after ``EventsLostError``.
    case mutationStream
    /// A stream merged by `transform(state:)`. It continues only after ``EventsLostError``.
    case stateStream
  }

  /// Where the failure came from.
  public let origin: Origin
  /// The error that was thrown.
  public let error: any Error

  @usableFromInline
  init(origin: Origin, error: any Error) {
    self.origin = origin
    self.error = error
  }
}

/// The host dropped an action of a merged stream because the host was at its capacity.
public struct MergedActionRefusal: Error, Hashable, CustomStringConvertible {
  /// The cause, and how to fix it.
  public var description: String {
    "The host is at its capacity: too many actions wait or have a running effect. It dropped an action of a merged "
      + "stream. Raise the capacity, or let effects end sooner."
  }
}

/// The steps of a host, one by one, for tests, logs and journals.
public enum ReactorTrace<R: Reactor>: Sendable {
  /// The host is about to call `mutate` with an action.
  case action(R.Action)
  /// `transform(action:)` or the policy ``EffectPolicy/first(_:)`` dropped an action.
  case ignored(R.Action)
  /// A mutation was reduced.
  case mutation(R.Mutation)
  /// A state that differs from the one before was shown to observers.
  case state(R.State)
  /// An effect began work that takes time. The number identifies the effect within its host.
  case effectStarted(R.Action, effect: UInt64)
  /// The work of an effect has ended: it is done, has failed or was cancelled.
  case effectEnded(R.Action, effect: UInt64)
  /// An effect or a merged stream failed.
  case failure(ReactorFailure<R.Action>)
}
