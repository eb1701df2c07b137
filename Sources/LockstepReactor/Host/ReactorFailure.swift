/// Something that failed, and by whose doing. The reactor itself went on.
public struct ReactorFailure<Action: Sendable>: Error {
  /// Where a failure came from.
  public enum Origin: Sendable {
    /// The effect of this action failed; mutations it gave before stay reduced.
    case action(Action)
    /// A stream merged by `transform(action:)`. If the error is ``MergedActionRefused`` only the one
    /// action is lost, if it is ``EventsLostError`` only so many; any other has ended the stream.
    case actionStream
    /// A stream merged by `transform(mutation:)`, which has ended unless the error is ``EventsLostError``.
    case mutationStream
    /// A stream merged by `transform(state:)`, which has ended unless the error is ``EventsLostError``.
    case stateStream
  }

  /// Where the failure came from.
  public let origin: Origin
  /// What was thrown.
  public let error: any Error

  @usableFromInline
  init(origin: Origin, error: any Error) {
    self.origin = origin
    self.error = error
  }
}

/// A merged stream had an action while the host was at its capacity; the action was dropped.
public struct MergedActionRefused: Error, Hashable, CustomStringConvertible {
  /// What happened and how to mend it.
  public var description: String {
    "an action of a merged stream was dropped because the host's capacity of unsettled actions is used up; "
      + "raise the capacity or let effects end sooner"
  }
}

/// What a host does, in order, for tests, logs and journals.
public enum ReactorTrace<R: Reactor>: Sendable {
  /// An action is about to be given to `mutate`.
  case action(R.Action)
  /// An action was not given to `mutate`: filtered out, or another effect of its lane came first.
  case ignored(R.Action)
  /// A mutation was reduced.
  case mutation(R.Mutation)
  /// A state that differs from the one before was shown.
  case state(R.State)
  /// Work that takes time began. The number tells the effects of one host apart.
  case effectStarted(R.Action, effect: UInt64)
  /// Work that takes time ended: done, failed or cancelled.
  case effectEnded(R.Action, effect: UInt64)
  /// Something failed.
  case failure(ReactorFailure<R.Action>)
}
