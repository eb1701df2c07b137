/// Holds back units of slow owners, so that they do not delay other owners.
///
/// An owner whose units took long in one group is throttled: its next units run alone. While other owners
/// write, each throttled unit waits for nine times the duration of the last throttled unit. So all throttled
/// owners together get a tenth of the writer's time, or all of it if no other owner writes. An owner that wrote
/// recently counts as writing, because clients pause between two writes. An owner is no longer throttled after a
/// quick unit, if none of its units wait.
///
/// Throttled owners take turns, and each owner's units stay in order. An owner, and all owners of a
/// network together, get at most half of the places that others leave. So none of them fills all places.
///
/// A stranger can sign up any number of owners. So owners of one network that become slow also use up
/// the time of their network: see `NetworkTimes`.
@usableFromInline
package struct WriteThrottle<Unit: OwnedWrite> {
  @usableFromInline
  package enum Admission {
    case unthrottled
    case waits
    /// The owner is throttled, and too many units of the owner, its network or all owners wait.
    case full
  }

  @usableFromInline var waiting: [Unit] = []
  @usableFromInline var slowOwners: Set<WriteOwner> = []
  @usableFromInline var networks = NetworkTimes()
  /// The time that owners took in the current group.
  @usableFromInline var spent: [WriteOwner: Int64] = [:]
  /// The owner of the one throttled unit of the current group; nil if the group has none. Between two groups, this is
  /// the owner of the last group's throttled unit.
  @usableFromInline var ownerAlone: WriteOwner?
  /// The time of that owner's units in the group.
  @usableFromInline
  package var timeAlone: Int64 = 0
  /// The owners whose units wait, in the order of their turns.
  private var turns: [WriteOwner] = []
  /// When the next throttled unit may run while other owners write.
  private var due: Int64 = 0
  /// When a unit last ended that was not throttled.
  private var lastOther: Int64?

  package init() {}

  package var isEmpty: Bool { waiting.isEmpty }

  /// Starts a group. `alone`: the owner of the unit that `next` has returned. If it is not nil, no other unit of the
  /// group is throttled.
  @inlinable
  package mutating func begin(alone owner: WriteOwner? = nil) {
    (ownerAlone, timeAlone) = (owner, 0)
    if !spent.isEmpty { spent = [:] }
  }

  /// Queues the unit if its owner or its network is throttled. `now` is the monotonic time in
  /// nanoseconds.
  @inlinable
  package mutating func admit(_ unit: Unit, now: @autoclosure () -> Int64) -> Admission {
    if slowOwners.isEmpty, networks.isEmpty, waiting.isEmpty { return .unthrottled }
    return admit(unit, at: now())
  }

  @usableFromInline
  mutating func admit(_ unit: Unit, at now: Int64) -> Admission {
    guard let owner = unit.owner, isThrottled(owner, now) else { return .unthrottled }
    guard hasPlace(for: owner) else { return .full }
    if !waits(owner) { turns.append(owner) }
    waiting.append(unit)
    return .waits
  }

  /// Whether one more unit of the owner may wait.
  private func hasPlace(for owner: WriteOwner) -> Bool {
    FairShare.hasPlace(
      of: WriteThrottleLimits.capacity,
      taken: waiting.count,
      byNetwork: owner.network.map { network in waiting.count { $0.owner?.network == network } },
      byOwner: waiting.count { $0.owner == owner }
    )
  }

  private mutating func isThrottled(_ owner: WriteOwner, _ now: Int64) -> Bool {
    waits(owner) || isSlow(owner, now)
  }

  private mutating func isSlow(_ owner: WriteOwner, _ now: Int64) -> Bool {
    if slowOwners.contains(owner) { return true }
    return owner.network.map { networks.isThrottled($0, now: now) } ?? false
  }

  /// Whether units of the owner wait. Then later ones wait too, because they must stay in order.
  package func waits(_ owner: WriteOwner) -> Bool { waiting.contains { $0.owner == owner } }

  /// Whether a unit that was admitted to the current group should be admitted again later. It should if its
  /// owner has become slow in this group, or if its network has used up its time.
  package mutating func holdsBack(_ unit: Unit, now: Int64) -> Bool {
    guard ownerAlone == nil, let owner = unit.owner, !waits(owner) else { return false }
    return isSlow(owner, now)
  }

  /// Removes and returns the next throttled unit, or returns nil if none may run now. `othersWait`
  /// says whether units of other owners may be waiting.
  package mutating func next(now: Int64, othersWait: Bool) -> Unit? {
    // Between two throttled units, others have their turn, even if the first one was quick.
    if othersWait, ownerAlone != nil { return nil }
    guard !waiting.isEmpty, !othersWait || now >= due else { return nil }
    let owner = turns.removeFirst()
    guard let index = waiting.firstIndex(where: { $0.owner == owner }) else { return nil }
    let unit = waiting.remove(at: index)
    if waits(owner) { turns.append(owner) }
    return unit
  }

  /// How many nanoseconds to wait before the next throttled unit, or nil to run it now.
  package func timeToRest(now: Int64) -> Int64? {
    guard due > now, let lastOther, now - lastOther < WriteThrottleLimits.recency else { return nil }
    return due - now
  }

  /// Records that a unit has just ended and took `time` nanoseconds.
  package mutating func note(_ unit: Unit, took time: Int64, now: Int64) {
    let owner = unit.owner
    let wasSlow = owner.map(slowOwners.contains) ?? false
    let isAlone = ownerAlone != nil && owner == ownerAlone
    if isAlone { timeAlone += time }
    defer {
      if !isAlone, !(owner.map(slowOwners.contains) ?? false) {
        lastOther = now
        if let network = owner?.network { networks.noteWrite(of: network, now: now) }
      }
    }
    guard let owner else { return }
    guard time >= WriteThrottleLimits.countedTime else {
      if !slowOwners.isEmpty, !waits(owner) { slowOwners.remove(owner) }
      return
    }
    let sum = spent[owner, default: 0] + time
    spent[owner] = sum
    guard sum >= WriteThrottleLimits.slowTime || wasSlow || isAlone else { return }
    due = now + min(WriteThrottleLimits.longestRest, time * WriteThrottleLimits.rest)
    guard sum >= WriteThrottleLimits.slowTime, !wasSlow else { return }
    forgetSlowOwners()
    slowOwners.insert(owner)
    if !isAlone, let network = owner.network { networks.charge(network, sum, now: now) }
  }

  /// Records that a group with one throttled unit has just ended, and that the unit took `time` nanoseconds. In SQLite,
  /// `time` includes the commit, because a commit takes longer than a quick unit. In PostgreSQL, it does not, because
  /// the group also has other units.
  package mutating func endAlone(took time: Int64, now: Int64) {
    due = now + min(WriteThrottleLimits.longestRest, time * WriteThrottleLimits.rest)
  }

  /// An owner that never writes again stays slow. So if there are too many slow owners, those whose
  /// units do not wait start again.
  private mutating func forgetSlowOwners() {
    guard slowOwners.count >= WriteThrottleLimits.slowOwners else { return }
    slowOwners = Set(waiting.compactMap(\.owner)).intersection(slowOwners)
  }
}

/// The limits of `WriteThrottle`. Times are in nanoseconds.
@usableFromInline
package enum WriteThrottleLimits {
  /// The time in one group that makes an owner slow.
  package static let slowTime: Int64 = 10_000_000
  /// Units that take less time do not count.
  static let countedTime: Int64 = 500_000
  /// How many throttled units of all owners together may wait.
  package static let capacity = 256
  /// How long a throttled unit waits: this many times the duration of the last throttled unit, up to `longestRest`.
  static let rest: Int64 = 9
  static let longestRest: Int64 = 5_000_000_000
  /// How long an owner counts as writing after a unit.
  static let recency: Int64 = 250_000_000
  /// How many slow owners are remembered.
  static let slowOwners = 4_096
}

/// The time that owners of each network took until they were throttled.
///
/// The owners of one network together may take a tenth of the writer's time before they are
/// throttled, and `burst` at once. If they took more, all units of the network are throttled for a
/// while, also those of new owners. This happens only while another network writes: behind a reverse
/// proxy whose `X-Forwarded-For` is not trusted, all clients have one network.
@usableFromInline
struct NetworkTimes {
  /// In nanoseconds.
  private static let burst: Int64 = 100_000_000
  /// A network's time is reduced by the time that passes, divided by this.
  private static let share: Int64 = 10
  /// How long a network counts as writing after a unit, in nanoseconds.
  private static let recency: Int64 = 10_000_000_000
  /// How many networks are remembered.
  private static let capacity = 1_024

  private struct Time {
    /// The time of the owners at `moment`, in nanoseconds.
    var taken: Int64
    var moment: Int64

    func taken(now: Int64) -> Int64 { max(0, taken - (now - moment) / NetworkTimes.share) }
  }

  private var times: [Int: Time] = [:]
  /// The network that wrote last and the one before, and when they did.
  private var last: (network: Int, moment: Int64)?
  private var secondLast: (network: Int, moment: Int64)?

  @usableFromInline
  init() {}

  @usableFromInline var isEmpty: Bool { times.isEmpty }

  /// Notes that a unit which was not throttled has ended.
  mutating func noteWrite(of network: Int, now: Int64) {
    if let last, last.network != network { secondLast = last }
    last = (network, now)
  }

  /// Adds the time of an owner that has become slow.
  mutating func charge(_ network: Int, _ time: Int64, now: Int64) {
    if times[network] == nil, times.count >= Self.capacity {
      times = times.filter { $0.value.taken(now: now) > 0 }
      if times.count >= Self.capacity { times = [:] }
    }
    let taken = times[network]?.taken(now: now) ?? 0
    times[network] = Time(taken: taken + min(time, WriteThrottleLimits.longestRest), moment: now)
  }

  mutating func isThrottled(_ network: Int, now: Int64) -> Bool {
    guard let taken = times[network]?.taken(now: now) else { return false }
    if taken == 0 { times[network] = nil }
    guard taken > Self.burst, let other = last?.network == network ? secondLast : last else { return false }
    return now - other.moment < Self.recency
  }
}
