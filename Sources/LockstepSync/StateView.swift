import LockstepCollections
import LockstepThreading

/// A user's state and the registered defaults at one moment, with the store's id.
package struct StateView: Sendable {
  package let store: String
  package let state: UserState
  package let registered: RegisteredDefaults
  package let registeredRevision: Revision
  /// Nil: each result is computed again.
  private var shownRevisions: ShownRevisions?

  package init(store: String, _ view: LedgerView) {
    self.init(store: store, state: view.state, registered: view.registered, at: view.registered.revision)
  }

  package init(store: String, state: UserState, registered: RegisteredDefaults, at registeredRevision: Revision) {
    self.store = store
    self.state = state
    self.registered = registered
    self.registeredRevision = registeredRevision
  }

  /// The same view for many questions about suites, such as the conditions of 500 actions. The result
  /// of one takes time in proportion to the registered defaults of the suite.
  package var forManyConditions: StateView {
    var view = self
    view.shownRevisions = ShownRevisions()
    return view
  }

  /// The last revision that changed the visible registered values of a suite.
  package func shownRevision(of suite: String, behind own: MapValues) -> Revision {
    let find = { registered.shownRevision(of: suite, behind: own, at: registeredRevision) }
    return shownRevisions?.revision(of: ElementKey(suite), find) ?? find()
  }

  /// The cursor of the user's whole state.
  package var cursor: Cursor { Cursor(store: store, revision: state.revision, registered: registeredRevision) }

  package var cursorText: String { cursor.text }

  package var position: StatePosition { StatePosition(cursor: cursorText, revision: state.revision.number) }

  package func cursor(_ revision: Revision, registered: Revision = .none, detail: String? = nil) -> Cursor {
    Cursor(store: store, revision: revision, registered: registered, detail: detail)
  }
}

/// The results of a view about suites.
final class ShownRevisions: Sendable {
  private let found = LockedState<[ElementKey: Revision]>([:])

  func revision(of suite: ElementKey, _ find: () -> Revision) -> Revision {
    if let known = found.withLock({ $0[suite] }) { return known }
    let revision = find()
    found.withLock { $0[suite] = revision }
    return revision
  }
}
