import LockstepAdministration
import LockstepRoutes
import LockstepSync

extension AdministrationChannel {
  /// Changes the declared collections of the store.
  package func change(_ work: CollectionsWork) throws -> CollectionsOutcome {
    let reply = try send(.post, OperatorRoutes.collections, work.json)
    return CollectionsOutcome(reply) ?? .refused(.conflict, "The outcome cannot be read.")
  }
}
