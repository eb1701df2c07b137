import LockstepCollections
import LockstepHTTP
import LockstepThreading

/// A user's committed state in memory. The user's clients share its encoded forms.
package final class CachedState: Sendable {
  package let state: UserState
  /// The approximate memory in bytes of this state, the recent states and the kept representations.
  /// All representations that can be kept are counted, as if a client had read each collection.
  let cost: Int
  let sums: StateSums
  private let encoded: LockedState<Encoded>
  /// The states just before this one. Most waiting clients have the cursor of one of them.
  private let recent: RecentStates

  private static let documentBytes = 64 * 1024
  private static let leastDocumentBytes = 4 * 1024
  /// Longer representations are not kept, because concatenating the leaves of a collection is fast.
  fileprivate static let representationBytes = 64 * 1024
  /// The approximate memory of a representation without its body (measured).
  fileprivate static let representationFields = 1_200
  /// How many bytes of registered defaults a kept representation may contain. They are not counted.
  private static let registeredBytes = 1_024
  /// The memory of a document and its question without their texts.
  private static let documentFields = 1_024

  private struct Encoded: Sendable {
    var representations: [CollectionName: KeptRepresentation]
    var documents: [ChangesFeed.Question: ChangesFeed.Document] = [:]
    var documentBytes = 0
    var waitedResponse: WaitedResponse?
    var cursor: (registered: Revision, text: String)?
  }

  /// The last response to requests that waited for this state. Usually they all have the same
  /// question.
  private struct WaitedResponse: Sendable {
    let question: ChangesFeed.Question
    let seconds: Int
    let response: Response
  }

  /// Valid as long as the collection and the registered defaults do not change.
  private struct KeptRepresentation: Sendable {
    let revision: Revision
    let registered: Revision
    let representation: Representation
  }

  /// Keeps the previous state's representations of unchanged collections. If the state was made from
  /// the previous one, this looks only at the changed collections.
  init(_ state: UserState, after previous: CachedState?) {
    self.state = state
    let changed = previous.flatMap { state.names(changedSince: $0.state) }
    var sums: StateSums
    if let previous, let changed {
      sums = previous.sums
      for name in changed { sums.replace(previous.state.collections[name], by: state.collections[name]) }
    } else {
      sums = StateSums()
      for collection in state.collections.values { sums.replace(nil, by: collection) }
    }
    self.sums = sums
    // `previous` may come from a load from the store. Then it need not be the state directly before.
    let follows = previous.map { $0.state.revision.number + 1 == state.revision.number } ?? false
    recent = previous.flatMap { follows ? $0.recent.adding($0.state, cost: $0.sums.cost, before: state) : nil } ?? .none
    cost = sums.cost + recent.cost + sums.representationCost
    var kept = previous?.encoded.withLock { $0.representations } ?? [:]
    if !kept.isEmpty {
      for name in changed ?? Set(kept.keys) where state.collections[name]?.revision != kept[name]?.revision {
        kept[name] = nil
      }
    }
    encoded = LockedState(Encoded(representations: kept))
  }

  /// The state after a revision, if it is still in memory.
  package func past(at revision: Revision) -> UserState? {
    if state.revision == revision { return state }
    return recent.state(at: revision)
  }

  /// The latest milestone at or before a revision.
  package func milestone(upTo revision: Revision) -> UserState? { recent.milestone(upTo: revision) }

  /// Whether this revision is certainly in the user's history. False if only the store can tell.
  package func knows(_ revision: Revision) -> Bool {
    revision == .none || past(at: revision) != nil || state.collections.values.contains { $0.revision == revision }
  }

  package func document(for question: ChangesFeed.Question) -> ChangesFeed.Document? {
    encoded.withLock { $0.documents[question] }
  }

  /// Keeps a document, because most of a user's waiting clients have the same cursor. The cost
  /// does not include documents. So together they take at most as much memory as the state, or 4 KiB.
  package func remember(_ document: ChangesFeed.Document, for question: ChangesFeed.Question) {
    let limit = min(Self.documentBytes, max(Self.leastDocumentBytes, sums.cost))
    let size = document.body.count + question.length + Self.documentFields
    guard size <= limit else { return }
    encoded.withLock { encoded in
      if encoded.documentBytes + size > limit {
        encoded.documents = [:]
        encoded.documentBytes = 0
        encoded.waitedResponse = nil
      }
      if encoded.documents.updateValue(document, forKey: question) == nil { encoded.documentBytes += size }
    }
  }

  /// The response to a question after a wait of at most this many seconds, if it was the last one.
  package func waitedResponse(to question: ChangesFeed.Question, seconds: Int) -> Response? {
    encoded.withLock { encoded in
      guard let last = encoded.waitedResponse, last.seconds == seconds, last.question == question else { return nil }
      return last.response
    }
  }

  /// Keeps a response with a document that is kept.
  package func remember(_ response: Response, to question: ChangesFeed.Question, seconds: Int) {
    encoded.withLock { encoded in
      guard encoded.documents[question] != nil else { return }
      encoded.waitedResponse = WaitedResponse(question: question, seconds: seconds, response: response)
    }
  }

  package func position(in store: String, registered: Revision) -> StatePosition {
    let cursor = encoded.withLock { encoded in
      if let known = encoded.cursor, known.registered == registered { return known.text }
      let text = Cursor(store: store, revision: state.revision, registered: registered).text
      encoded.cursor = (registered, text)
      return text
    }
    return StatePosition(cursor: cursor, revision: state.revision.number)
  }

  /// The kept representation of a collection, if it is still valid.
  package func representation(of collection: CollectionName, registered: Revision) -> Representation? {
    guard let known = encoded.withLock({ $0.representations[collection] }), known.registered == registered else {
      return nil
    }
    return known.representation
  }

  /// Keeps the representation of a collection if the cost of the state includes it.
  package func keep(_ representation: Representation, of collection: CollectionName, registered: Revision) {
    guard case .bytes(let body) = representation.body, body.count <= Self.representationBytes,
      let present = state.collections[collection], body.count <= present.length + Self.registeredBytes
    else { return }
    let new = KeptRepresentation(revision: present.revision, registered: registered, representation: representation)
    encoded.withLock { $0.representations[collection] = new }
  }
}

/// Sums over all collections of a state.
struct StateSums: Sendable, Equatable {
  /// `UserState.cost`.
  private(set) var cost = UserState().cost
  /// The memory of all representations that can be kept.
  private(set) var representationCost = 0

  mutating func replace(_ old: CollectionState?, by new: CollectionState?) {
    cost += (new?.cost ?? 0) - (old?.cost ?? 0)
    representationCost += Self.representationCost(new) - Self.representationCost(old)
  }

  private static func representationCost(_ collection: CollectionState?) -> Int {
    guard let length = collection?.length, length <= CachedState.representationBytes else { return 0 }
    return length + CachedState.representationFields
  }
}
