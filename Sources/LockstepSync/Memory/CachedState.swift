import LockstepCollections
import LockstepThreading

/// A user's committed state in memory, with what was made of it for clients: made once, given to all who ask.
package final class CachedState: Sendable {
  package let state: UserState
  /// What it takes in memory with the states before it, and without what was made of it: that is about as much again as
  /// the state, at most.
  let cost: Int
  private let made: LockedState<Made>
  /// The states just before: most who wait have one of them.
  private let recent: RecentStates

  /// How many documents are kept that were told, at most, and how long they may be together.
  private static let toldCount = 16
  private static let toldBytes = 64 * 1024

  /// What was made of it for clients.
  private struct Made: Sendable {
    var rendered: [CollectionName: Rendered]
    /// By what was asked.
    var told: [ChangesFeed.Question: ChangesFeed.Document] = [:]
    /// How long those are together.
    var toldBytes = 0
    /// The text of the state's cursor, with the revision of what was registered then.
    var cursor: (registered: Revision, text: String)?
  }

  /// What was made of a collection: it holds as long as the collection and what is registered behind it stay the same.
  struct Rendered: Sendable {
    let revision: Revision
    let registered: Revision
    let representation: Representation
  }

  /// A state that follows on another: what was made of collections that are the same is kept.
  ///
  /// - Parameters:
  ///   - state: The state.
  ///   - previous: The one before it, where that is in memory.
  ///   - mutationBytes: How long the facts are that lie between them.
  init(_ state: UserState, after previous: CachedState?, mutationBytes: Int = 0) {
    self.state = state
    // Only what follows without a gap is a past.
    let follows = previous.map { $0.state.revision.number + 1 == state.revision.number } ?? false
    recent = follows ? previous.map { $0.recent.adding($0.state, before: state, mutationBytes) } ?? .none : .none
    cost = state.cost + recent.cost
    let kept = previous?.made.withLock { $0.rendered } ?? [:]
    made = LockedState(
      Made(
        rendered: kept.isEmpty
          ? kept : kept.filter { state.collections[$0.key]?.revision ?? .none == $0.value.revision }
      )
    )
  }

  /// The state as it was after a revision, where it's still in memory.
  func past(at revision: Revision) -> UserState? {
    if state.revision == revision { return state }
    return recent.state(at: revision)
  }

  /// Whether the user's history has been at exactly this revision, as far as can be said without asking the store; false
  /// where it can't.
  func knows(_ revision: Revision) -> Bool {
    revision == .none || past(at: revision) != nil || state.collections.values.contains { $0.revision == revision }
  }

  /// What was told already to somebody who asked the same, if anything.
  package func told(_ question: ChangesFeed.Question) -> ChangesFeed.Document? { made.withLock { $0.told[question] } }

  /// Remembers what was told: of a thousand who wait most have the same cursor.
  package func remember(_ document: ChangesFeed.Document, for question: ChangesFeed.Question) {
    guard document.body.count <= Self.toldBytes else { return }
    made.withLock { made in
      if made.told.count >= Self.toldCount || made.toldBytes + document.body.count > Self.toldBytes {
        made.told = [:]
        made.toldBytes = 0
      }
      if made.told.updateValue(document, forKey: question) == nil { made.toldBytes += document.body.count }
    }
  }

  /// The text of the state's cursor.
  package func cursorText(of store: String, registered: Revision) -> String {
    made.withLock { made in
      if let known = made.cursor, known.registered == registered { return known.text }
      let text = Cursor(store: store, revision: state.revision, registered: registered).text
      made.cursor = (registered, text)
      return text
    }
  }

  /// What was made of a collection, if that still holds.
  package func representation(of collection: CollectionName, registered: Revision) -> Representation? {
    guard let known = made.withLock({ $0.rendered[collection] }), known.registered == registered else { return nil }
    return known.representation
  }

  /// Keeps what was made of a collection.
  package func keep(_ representation: Representation, of collection: CollectionName, registered: Revision) {
    let revision = state.collections[collection]?.revision ?? .none
    let new = Rendered(revision: revision, registered: registered, representation: representation)
    made.withLock { made in
      // Clients may ask for as many suites as they can think of, and each that has nothing in it shows as an empty one.
      if made.rendered.count >= state.collections.count + Self.emptyCollections { made.rendered = [:] }
      made.rendered[collection] = new
    }
  }

  /// How many collections are kept beside those that the user has.
  private static let emptyCollections = 8
}
