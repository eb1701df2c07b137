import LockstepCollections

/// A user's states just before the latest, newest first, in two generations: when the young one is half of what there is
/// room for, the old one goes and the young one grows old. So adding one costs the same however many there are.
struct RecentStates: Sendable {
  /// How many states are kept, at most, and about how many bytes they may take together; but the last is always there.
  private static let capacity = 32
  private static let bytes = 256 * 1024

  /// A state, and those of its generation before it.
  private final class Past: Sendable {
    let state: UserState
    let previous: Past?
    /// How many there are, with this one.
    let count: Int
    /// What they take together that the states after them don't have too: the order of their elements, and those that have
    /// gone since.
    let cost: Int

    init(_ state: UserState, cost: Int, previous: Past?) {
      self.state = state
      self.previous = previous
      count = (previous?.count ?? 0) + 1
      self.cost = (previous?.cost ?? 0) + cost
    }

    func state(at revision: Revision) -> UserState? {
      var past: Past? = self
      while let candidate = past {
        if candidate.state.revision == revision { return candidate.state }
        past = candidate.previous
      }
      return nil
    }
  }

  private let young: Past?
  private let old: Past?

  private init(young: Past?, old: Past?) {
    self.young = young
    self.old = old
  }

  /// No states.
  static let none = RecentStates(young: nil, old: nil)

  /// What they take in memory.
  var cost: Int { (young?.cost ?? 0) + (old?.cost ?? 0) }

  /// The state of a revision, where it's one of them.
  func state(at revision: Revision) -> UserState? { young?.state(at: revision) ?? old?.state(at: revision) }

  /// These and one more.
  ///
  /// - Parameters:
  ///   - state: The last state before the latest.
  ///   - latest: The state that took its place.
  ///   - mutationBytes: How long the facts are that lie between them.
  /// - Returns: those that are kept.
  func adding(_ state: UserState, before latest: UserState, _ mutationBytes: Int) -> RecentStates {
    // What came is no longer than the facts; so whatever else is missing has gone.
    let gone = max(0, state.bytes + mutationBytes - latest.bytes)
    let cost = state.orderCost + gone
    if let young, young.count < Self.capacity / 2, young.cost + cost <= Self.bytes / 2 {
      return RecentStates(young: Past(state, cost: cost, previous: young), old: old)
    }
    let grown = young.flatMap { $0.cost <= Self.bytes / 2 ? $0 : nil }
    return RecentStates(young: Past(state, cost: cost, previous: nil), old: grown)
  }
}
