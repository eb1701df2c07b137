import LockstepCollections
import LockstepStore
import LockstepSync
import LockstepThreading

/// The answers to requests about screens that came with an idempotency key, so that the same request, sent again, isn't done
/// twice.
///
/// Screens are in memory alone, and so are these: an answer is kept for as long as a screen lives after its last request, of
/// each owner the last ones, and of all together no more than a bound: past it the oldest go, whosoever they are.
package final class ScreenIdempotency: Sendable {
  /// Whose a key is.
  package enum Owner: Sendable, Hashable {
    case session(SessionID)
    /// Of whoever knows the id of a screen that belongs to nobody.
    case screen(String)
  }

  /// How many keys of an owner are kept, at most, and how long their answers may be together.
  static let maximumKeys = 64
  static let maximumBytes = 1024 * 1024
  /// How much all answers may take together, in bytes.
  static let maximumBytesInAll = 32 * 1024 * 1024

  fileprivate struct Kept: Sendable {
    let fingerprint: [UInt8]
    /// Nil while it's at work.
    var answer: StoredResponse?
  }

  fileprivate struct Keys: Sendable {
    var kept: [ElementKey: Kept] = [:]
    /// Those that are answered, the oldest first.
    var order: [ElementKey] = []
    var bytes = 0
    var lastUse: Int64
  }

  fileprivate struct Contents: Sendable {
    var owners: [Owner: Keys] = [:]
    /// What all answers take.
    var bytes = 0
    /// All that were kept, in that order. Some have gone since.
    var order: ArraySlice<(owner: Owner, name: ElementKey)> = []
    /// How long the order may get until it's looked through.
    var tidyAt = 1_024
  }

  private let contents = LockedState(Contents())
  private let bound: Int

  /// - Parameter bound: How much all answers may take together, in bytes.
  init(bound: Int = ScreenIdempotency.maximumBytesInAll) {
    self.bound = bound
  }

  /// The answer that was given to a request with this key; nil where there was none: from now on it's at work, until `settle`.
  ///
  /// - Throws: `IdempotencyKeyInUseError` where a request with it is at work, `IdempotencyKeyReusedError` where it was another request's.
  package func take(_ key: IdempotencyKey, of owner: Owner, at now: Int64) throws -> StoredResponse? {
    try contents.withLock { contents in
      var keys = contents.owners[owner] ?? Keys(lastUse: now)
      defer { contents.owners[owner] = keys }
      keys.lastUse = now
      guard let known = keys.kept[ElementKey(key.key)] else {
        keys.kept[ElementKey(key.key)] = Kept(fingerprint: key.fingerprint)
        return nil
      }
      guard known.fingerprint == key.fingerprint else { throw IdempotencyKeyReusedError() }
      guard let answer = known.answer else { throw IdempotencyKeyInUseError() }
      return answer
    }
  }

  /// Says what became of the request with a key that was new; nil: nothing that must stay, and it may be tried again.
  package func settle(_ key: IdempotencyKey, of owner: Owner, _ answer: StoredResponse?) {
    contents.withLock { contents in
      let name = ElementKey(key.key)
      guard let answer else {
        contents.owners[owner]?.kept[name] = nil
        // Anybody may think of any number of screens that there aren't.
        if contents.owners[owner]?.kept.isEmpty == true { contents.owners[owner] = nil }
        return
      }
      contents.bytes += contents.owners[owner]?.keep(answer, as: name) ?? 0
      contents.order.append((owner, name))
      while contents.bytes > bound, let oldest = contents.order.popFirst() {
        contents.drop(oldest.name, of: oldest.owner)
      }
      // What has gone already is still in the order; it must not outgrow what is kept.
      if contents.order.count > contents.tidyAt { contents.tidy() }
    }
  }

  /// Forgets what was answered about a screen that has ended, where it belonged to nobody. What is at work, such as closing it, isn't
  /// forgotten.
  func forget(_ owner: Owner) {
    contents.withLock { contents in
      for name in contents.owners[owner]?.order ?? [] { contents.drop(name, of: owner) }
    }
  }

  /// Forgets the owners of whom nothing was heard since a moment and nothing is at work.
  func forget(before moment: Int64) {
    contents.withLock { contents in
      for (owner, keys) in contents.owners where keys.lastUse <= moment && keys.kept.count <= keys.order.count {
        contents.owners[owner] = nil
        contents.bytes -= keys.bytes
      }
      contents.tidy()
    }
  }

  /// Of how many owners any key is known.
  var ownerCount: Int { contents.withLock { $0.owners.count } }

  /// What all answers take, in bytes.
  var bytes: Int { contents.withLock { $0.bytes } }
}

extension ScreenIdempotency.Contents {
  /// Drops an answer, where it's still there, and its owner with the last.
  fileprivate mutating func drop(_ name: ElementKey, of owner: ScreenIdempotency.Owner) {
    guard let index = owners[owner]?.order.firstIndex(of: name), let answer = owners[owner]?.kept[name]?.answer else {
      return
    }
    owners[owner]?.order.remove(at: index)
    owners[owner]?.kept[name] = nil
    let length = ScreenIdempotency.Keys.length(answer)
    owners[owner]?.bytes -= length
    bytes -= length
    if owners[owner]?.kept.isEmpty == true { owners[owner] = nil }
  }

  /// Takes what has gone out of the order.
  fileprivate mutating func tidy() {
    order = order.filter { owners[$0.owner]?.kept[$0.name]?.answer != nil }[...]
    tidyAt = 2 * order.count + 1_024
  }
}

extension ScreenIdempotency.Keys {
  /// Keeps an answer in the place of the oldest. Gives how many bytes more that takes.
  fileprivate mutating func keep(_ answer: StoredResponse, as name: ElementKey) -> Int {
    let before = bytes
    kept[name]?.answer = answer
    order.append(name)
    bytes += Self.length(answer)
    while order.count > 1, order.count > ScreenIdempotency.maximumKeys || bytes > ScreenIdempotency.maximumBytes {
      guard let oldest = kept.removeValue(forKey: order.removeFirst())?.answer else { continue }
      bytes -= Self.length(oldest)
    }
    return bytes - before
  }

  /// What an answer takes, with its key and its places in the tables.
  fileprivate static func length(_ answer: StoredResponse) -> Int {
    512 + answer.fields.count + (answer.body?.count ?? 0)
  }
}
