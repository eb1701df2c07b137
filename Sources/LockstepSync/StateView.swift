import LockstepCollections

/// A user's state and the registered defaults at one moment, with the store's id.
package struct StateView: Sendable {
  package let store: String
  package let state: UserState
  package let registered: RegisteredDefaults
  package let registeredRevision: Revision

  package init(store: String, _ view: LedgerView) {
    self.init(store: store, state: view.state, registered: view.registered, at: view.registered.revision)
  }

  package init(store: String, state: UserState, registered: RegisteredDefaults, at registeredRevision: Revision) {
    self.store = store
    self.state = state
    self.registered = registered
    self.registeredRevision = registeredRevision
  }

  /// The cursor of the user's whole state.
  package var cursor: Cursor { Cursor(store: store, revision: state.revision, registered: registeredRevision) }

  package var cursorText: String { cursor.text }

  package var position: StatePosition { StatePosition(cursor: cursorText, revision: state.revision.number) }

  package func cursor(_ revision: Revision, registered: Revision = .none, detail: String? = nil) -> Cursor {
    Cursor(store: store, revision: revision, registered: registered, detail: detail)
  }
}
