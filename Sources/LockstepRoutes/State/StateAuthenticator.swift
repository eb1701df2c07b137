import LockstepAccounts
import LockstepCollections
import LockstepHTTP
import LockstepSync

/// Lets in who has a token to what is theirs. Whatever is answered there tells how far the user's state has come: what refuses
/// too, where that is in memory.
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

  /// Answers for the session that a request's token belongs to.
  func answer(
    _ request: Request,
    _ answer: @escaping @Sendable (LiveSession) throws -> HandlerResult
  ) throws -> HandlerResult {
    try sessions.answer(request) { session in
      do {
        return telling(try answer(session), session.user)
      } catch {
        throw told(error, to: session.user)
      }
    }
  }

  /// An error as it's told to a user: a problem has the cursor of their state, unless it's that of another moment, or nobody's.
  func told(_ error: any Error, to user: UserID) -> any Error {
    guard var problem = error as? Problem ?? Problem.describing(error) else { return error }
    guard problem.kind != .unauthorized, problem.fields[.cursor] == nil, let hot = cache.state(of: user) else {
      return problem
    }
    let view = LedgerView(state: hot.state, registered: registry.current)
    problem.fields.append(.cursor, StateView(store: store, view).cursor.text)
    return problem
  }

  /// Adds the cursor to the errors of asynchronous work. A parked request adds it itself.
  private func telling(_ result: HandlerResult, _ user: UserID) -> HandlerResult {
    guard case .async(let work) = result else { return result }
    return .async {
      do { return telling(try await work(), user) } catch { throw told(error, to: user) }
    }
  }
}
