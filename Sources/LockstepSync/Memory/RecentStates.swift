import LockstepCollections

/// A user's states just before the latest one, newest first, in two generations. When the young
/// generation has half of the capacity, it replaces the old one. So adding a state always takes the
/// same time.
struct RecentStates: Sendable {
  /// The most states that are kept. Their `cost` is limited too, but the newest state is always
  /// kept.
  private static let capacity = 32
  private static let bytes = 256 * 1024

  /// A state, with the earlier states of its generation.
  private final class Past: Sendable {
    let state: UserState
    let previous: Past?
    let count: Int
    /// The memory in bytes that only this state and the earlier states of its generation use. They
    /// share the rest with later states.
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
  private let milestones: Milestones

  private init(young: Past?, old: Past?, _ milestones: Milestones) {
    self.young = young
    self.old = old
    self.milestones = milestones
  }

  static let none = RecentStates(young: nil, old: nil, .none)

  /// The memory that changes have replaced since the oldest of these states or since the oldest
  /// milestone, in bytes.
  var cost: Int { max((young?.cost ?? 0) + (old?.cost ?? 0), milestones.cost) }

  func state(at revision: Revision) -> UserState? { young?.state(at: revision) ?? old?.state(at: revision) }

  /// The latest milestone at or before a revision.
  func milestone(upTo revision: Revision) -> UserState? { milestones.last(upTo: revision) }

  /// These states and one more. `stateCost` is its `cost`.
  func adding(_ state: UserState, cost stateCost: Int, before latest: UserState) -> RecentStates {
    let replaced = state.memory(notIn: latest)
    let cost = state.unsharedMemory + replaced
    let milestones = milestones.after(state, cost: stateCost, replaced: replaced)
    if let young, young.count < Self.capacity / 2, young.cost + cost <= Self.bytes / 2 {
      return RecentStates(young: Past(state, cost: cost, previous: young), old: old, milestones)
    }
    let grown = young.flatMap { $0.cost <= Self.bytes / 2 ? $0 : nil }
    return RecentStates(young: Past(state, cost: cost, previous: nil), old: grown, milestones)
  }
}
