import LockstepThreading
import Synchronization

/// The memory of output that clients have not taken yet, of all connections together.
///
/// It has a limit. Output may also have an owner, such as a user. An owner may hold at most half
/// of what the others leave. So one owner gets at most half of the memory, and there is always room
/// for a short response of another owner.
final class OutputMemory: Sendable {
  enum Refusal: Error {
    case full
    /// There is room, but the owner would hold more than its share.
    case shareUsed
  }

  private let limit: Int
  private let total = Atomic(0)
  private let owners = LockedState<[String: Int]>([:])

  init(limit: Int) {
    self.limit = limit
  }

  var bytes: Int { total.load(ordering: .relaxed) }

  /// Whether `count` more bytes could exceed an owner's share.
  func dependsOnOwner(_ count: Int) -> Bool { bytes + count > limit / 2 }

  /// Counts more bytes of a connection's output, if there is room. There is always room if no other
  /// connection has output in memory. `own` is what the connection has already.
  func hold(_ count: Int, beside own: Int, of owner: String?) -> Refusal? {
    let total = total.add(count, ordering: .relaxed).newValue
    let held = owner.map { assign(count, to: $0) } ?? 0
    guard total > own + count else { return nil }
    guard total > limit || held > limit - total else { return nil }
    release(count, of: owner)
    return total > limit ? .full : .shareUsed
  }

  func release(_ count: Int, of owner: String?) {
    total.subtract(count, ordering: .relaxed)
    if let owner { assign(-count, to: owner) }
  }

  /// Adds bytes to those of an owner. Returns how many the owner has now.
  @discardableResult
  func assign(_ count: Int, to owner: String) -> Int {
    owners.withLock { owners in
      let held = owners[owner, default: 0] + count
      owners[owner] = held == 0 ? nil : held
      return held
    }
  }
}
