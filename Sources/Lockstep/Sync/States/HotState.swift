import Workers

/// A user's committed state in memory, with what was made of it for clients: made once, given to all who ask.
final class HotState: Sendable {
  let state: UserState
  /// What it takes in memory, without what was made of it: that is about as much again, at most.
  let cost: Int
  private let rendered: Monitor<[CollectionName: Rendered]>

  /// What was made of a collection: it holds as long as the collection and what is registered behind it stay the same.
  struct Rendered: Sendable {
    let revision: Int
    let registered: Int
    let representation: Representation
  }

  /// A state that follows on another: what was made of collections that are the same is kept.
  init(_ state: UserState, after previous: HotState?) {
    self.state = state
    cost = state.cost
    let kept = previous?.rendered.withLock { $0 } ?? [:]
    rendered = Monitor(kept.filter { name, rendered in state.collections[name]?.revision ?? 0 == rendered.revision })
  }

  /// What was made of a collection, if that still holds.
  func representation(of collection: CollectionName, registered: Int) -> Representation? {
    guard let known = rendered.withLock({ $0[collection] }), known.registered == registered else { return nil }
    return known.representation
  }

  /// Keeps what was made of a collection.
  func keep(_ representation: Representation, of collection: CollectionName, registered: Int) {
    let revision = state.collections[collection]?.revision ?? 0
    let made = Rendered(revision: revision, registered: registered, representation: representation)
    rendered.withLock { $0[collection] = made }
  }
}
