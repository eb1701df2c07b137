import LockstepTime

/// An entry of the journal: one action that changed something.
package struct JournalEntry: Sendable {
  package let revision: Revision
  /// The action's position in its transaction, from 0.
  package let position: Int
  package let collection: CollectionName
  package let at: Timestamp
  /// Nil if a service token made the change.
  package let session: SessionID?
  /// The name of the service token that made the change; nil if it was a session.
  package let agent: String?
  /// The JSON text of the action, as clients get it; `null` if the store is damaged there.
  package let action: String
  /// The JSON text of the mutations, as clients get it; `null` if the store is damaged there.
  package let mutations: String
  /// The size of the user's journal up to and including this entry, in bytes. Pruned entries count
  /// too.
  package let written: Int

  package init(
    revision: Revision,
    position: Int,
    collection: CollectionName,
    at: Timestamp,
    session: SessionID?,
    agent: String? = nil,
    action: String,
    mutations: String,
    written: Int
  ) {
    self.revision = revision
    self.position = position
    self.collection = collection
    self.at = at
    self.session = session
    self.agent = agent
    self.action = action
    self.mutations = mutations
    self.written = written
  }
}
