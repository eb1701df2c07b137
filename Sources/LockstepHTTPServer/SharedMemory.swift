import LockstepThreading
import Synchronization

/// The memory for one purpose of all connections together: output that clients have not taken yet, or
/// the bodies of requests.
///
/// It has a limit. Bytes may also have an owner, such as a user. An owner may hold at most half
/// of what the others leave. So one owner gets at most half of the memory, and there is always room
/// for a short response or body of another owner.
final class SharedMemory: Sendable {
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

  /// Counts more bytes, if there is room. `own` is how many bytes the connection has already. If it is
  /// given and no other connection has any bytes, there is always room.
  func hold(_ count: Int, beside own: Int? = nil, of owner: String?) -> Refusal? {
    let total = total.add(count, ordering: .relaxed).newValue
    let held = owner.map { assign(count, to: $0) } ?? 0
    if let own, total <= own + count { return nil }
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
