import LockstepAccounts
import LockstepCollections
import LockstepModules
import LockstepStore
import LockstepSync
import LockstepThreading

extension Ledger {
  /// Erases a user's data in a declared collection, as a transaction that the journal shows. A user who does
  /// not exist any more has no data.
  package func erase(_ declaration: DeclaredCollection, of user: UserID, by agent: LiveServiceToken) async throws {
    var action = declaration.clearing
    action.isErasure = true
    let transaction = Transaction(
      user: user,
      session: LiveSession(of: user, for: agent),
      actions: [action],
      response: { _ in StoredResponse(status: 204, fields: []) },
      refusal: { _ in nil }
    )
    let reservation = reserve(user)
    do {
      if reservation.needsLoading { try await load(reservation, from: nil) }
      _ = try await commit(transaction, reservation)
    } catch is SessionEndedError {}
  }
}
