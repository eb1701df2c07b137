import LockstepCollections
import LockstepHTTP
import LockstepJSON
import LockstepReactor
import LockstepScreens
import LockstepThreading

extension Problem {
  /// The screen does not exist, or belongs to another session. Clients cannot tell which.
  package static var noSuchScreen: Problem {
    Problem(.notFound, detail: "There is no such screen, or it has ended. POST /v1/reactors/{name} opens a new one.")
  }

  /// The screen does not meet a precondition. The problem contains the current state.
  init(changed screen: Screen) {
    let shown = screen.engine.shown
    let cursor = screen.cursor(shown.number)
    self.init(.preconditionFailed, detail: "The screen's state has changed.")
    members = [("current", JSON(trusting: screen.document(shown))), ("cursor", .string(cursor))]
    fields.append(.etag, "\"\(cursor)\"")
  }

  /// The problem when a screen cannot be opened; `nil` for internal errors.
  init?(opening error: any Error) {
    switch error {
    case let refusal as Refusal: self.init(refusal) { "/arguments\($0)" }
    case TooManyScreensError.inAll: self = .overloaded("Too many screens are open.")
    case let tooMany as TooManyScreensError:
      let detail =
        tooMany == .ofSession
        ? "This session, or this user, has the maximum number of screens. Close one with DELETE "
          + "/v1/reactors/{name}/{id}."
        : "The maximum number of anonymous screens is open, in all or for your network. Try again in a few minutes."
      self.init(.tooManyRequests, detail: detail)
      fields.append(.retryAfter, tooMany == .ofSession ? "1" : "60")
    case is TaskScope.ShutDownError: self = .overloaded(Problem.shuttingDown)
    default:
      guard let problem = Problem.describing(error) else { return nil }
      self = problem
    }
  }

  /// The problem when a screen refuses its actions; `nil` for internal errors.
  init?(acting error: any Error, on screen: Screen, isArray: Bool) {
    switch error {
    case let refused as StepRefusal:
      switch refused.reason {
      case let unreadable as UnreadableActionsError:
        let faults = unreadable.faults.map { fault in
          // The pointer into a single action has no array index.
          Fault(pointer: isArray ? fault.pointer : String(fault.pointer.dropFirst(2)), detail: fault.detail)
        }
        self.init(.validationFailed, errors: faults)
      case let refusal as Refusal:
        self.init(refusal) { isArray ? "/\(refused.index)/payload\($0)" : "/payload\($0)" }
      default: return nil
      }
      if isArray { members.append(("failed", .integer(Int64(refused.index)))) }
    case is StepConditionError: self.init(changed: screen)
    case AdmissionError.full: self = .overloaded("The screen has too much to do. Try again in a moment.")
    case AdmissionError.closed, is CancellationError:
      self = screen.session?.isEnded == true ? Problem.unauthorized(true) : .noSuchScreen
    default: return nil
    }
  }
}
