import LockstepCollections

/// A user's most recent past states, newest first, in two generations. When the young generation has half of the capacity, the old
/// one is dropped and the young one takes its place. So the cost of adding a state does not depend on their number.
struct RecentStates: Sendable {
  /// The limits of the kept states: their number, and their approximate bytes together. The last state is always kept.
  private static let capacity = 32
  private static let bytes = 256 * 1024

  /// A state with the earlier states of its generation.
  private final class Past: Sendable {
    let state: UserState
    let previous: Past?
    /// The number of states, including this one.
    let count: Int
    /// The bytes that they do not share with later states: the order of their elements, and elements that were removed or replaced.
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

  static let none = RecentStates(young: nil, old: nil)

  /// The bytes that they take in memory.
  var cost: Int { (young?.cost ?? 0) + (old?.cost ?? 0) }

  func state(at revision: Revision) -> UserState? { young?.state(at: revision) ?? old?.state(at: revision) }

  /// Adds the state before `latest`. `mutationBytes` is the number of bytes of the mutations in between.
  func adding(_ state: UserState, before latest: UserState, _ mutationBytes: Int) -> RecentStates {
    // New elements have no more bytes than the mutations. The rest of the difference was removed.
    let gone = max(0, state.bytes + mutationBytes - latest.bytes)
    let cost = state.orderCost + gone
    if let young, young.count < Self.capacity / 2, young.cost + cost <= Self.bytes / 2 {
      return RecentStates(young: Past(state, cost: cost, previous: young), old: old)
    }
    let grown = young.flatMap { $0.cost <= Self.bytes / 2 ? $0 : nil }
    return RecentStates(young: Past(state, cost: cost, previous: nil), old: grown)
  }
}
