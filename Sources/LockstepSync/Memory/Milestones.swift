import LockstepCollections

/// One or two earlier states of a user with a large state. Mostly they are older than
/// `RecentStates`. A later past state is rebuilt from a milestone and the mutations after it. That
/// takes much less time than from a snapshot, which is as large as the state.
///
/// When the older milestone is dropped, the younger one takes its place. Together they use at most
/// two thirds of the memory of the state.
struct Milestones: Sendable {
  /// The next milestone is due when changes have replaced a third of the state.
  private static let divisor = 3

  private let young: Milestone?
  private let old: Milestone?

  private struct Milestone {
    let state: UserState
    /// The memory of collections that changes have replaced between this milestone and the next.
    var replaced: Int

    /// The memory that only this milestone uses, in bytes.
    var cost: Int { state.unsharedMemory + replaced }
  }

  static let none = Milestones(young: nil, old: nil)

  /// The memory that only the milestones use.
  var cost: Int { (young?.cost ?? 0) + (old?.cost ?? 0) }

  /// The last milestone before or at a revision.
  func last(upTo revision: Revision) -> UserState? {
    [young, old].lazy.compactMap { $0?.state }.first { $0.revision <= revision }
  }

  /// The milestones after a change. `state` is the state before it with its `cost`, and `replaced` is
  /// the memory of its collections that the state after it does not share.
  func after(_ state: UserState, cost: Int, replaced: Int) -> Milestones {
    let limit = cost / Self.divisor
    let new = Milestone(state: state, replaced: replaced)
    guard cost > LargeUsers.largeCost, new.cost <= limit else { return .none }
    if var young, young.cost + replaced <= limit {
      young.replaced += replaced
      return Milestones(young: young, old: old)
    }
    return Milestones(young: new, old: young)
  }
}
