import LockstepAccounts
import LockstepCollections
import LockstepHTTP
import LockstepSync

/// Authenticates requests for a user's own state. If the user's state is in memory, problems carry
/// its cursor too.
package struct StateAuthenticator: Sendable {
  let store: String
  let sessions: TokenAuthenticator
  let cache: StateCache
  let registry: RegisteredLedger

  package init(store: String, sessions: TokenAuthenticator, cache: StateCache, registry: RegisteredLedger) {
    self.store = store
    self.sessions = sessions
    self.cache = cache
    self.registry = registry
  }

  /// Passes the session of the request's token to `answer`.
  func answer(
    _ request: Request,
    _ answer: @escaping @Sendable (LiveSession) throws -> HandlerResult
  ) throws -> HandlerResult {
    try sessions.answer(request) { session in
      do {
        return addingCursor(to: try answer(session), of: session.user)
      } catch {
        throw addingCursor(to: error, of: session.user)
      }
    }
  }

  /// Adds the cursor of the user's state to a problem. A problem that has a cursor, or that says
  /// `unauthorized`, stays as it is.
  func addingCursor(to error: any Error, of user: UserID) -> any Error {
    guard var problem = error as? Problem ?? Problem.describing(error) else { return error }
    guard problem.kind != .unauthorized, problem.fields[.cursor] == nil, let hot = cache.state(of: user) else {
      return problem
    }
    let view = LedgerView(state: hot.state, registered: registry.current)
    problem.fields.append(.cursor, StateView(store: store, view).cursor.text)
    return problem
  }

  /// Adds the cursor to the errors of asynchronous work. A parked request adds it itself.
  private func addingCursor(to result: HandlerResult, of user: UserID) -> HandlerResult {
    guard case .async(let work) = result else { return result }
    return .async {
      do { return addingCursor(to: try await work(), of: user) } catch { throw addingCursor(to: error, of: user) }
    }
  }
}
