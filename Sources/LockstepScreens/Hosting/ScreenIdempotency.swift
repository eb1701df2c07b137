import LockstepCollections
import LockstepJSON
import LockstepStore
import LockstepSync
import LockstepThreading

/// The responses to screen requests with an idempotency key. A repeated request gets the first
/// response again.
///
/// Like screens, the responses exist only in memory. An owner's newest responses are kept until the
/// owner has sent no request with a key for 15 minutes, or until an anonymous owner's screen ends.
/// The total size of all responses is limited.
package final class ScreenIdempotency: Sendable {
  package enum Owner: Sendable, Hashable {
    case session(SessionID)
    /// An anonymous screen, by its id.
    case screen(ExactText)
  }

  /// How many keys of an owner are kept, and how many bytes their responses may have in total.
  static let maximumKeys = 64
  static let maximumBytes = 1024 * 1024
  static let maximumBytesInAll = 32 * 1024 * 1024

  fileprivate struct Kept: Sendable {
    let fingerprint: [UInt8]
    /// `nil` while the request runs.
    var response: StoredResponse?
  }

  fileprivate struct Keys: Sendable {
    var kept: [ExactText: Kept] = [:]
    /// The keys with a response, the oldest first.
    var order: [ExactText] = []
    var bytes = 0
    var lastUse: Int64
  }

  fileprivate struct Contents: Sendable {
    var owners: [Owner: Keys] = [:]
    var bytes = 0
    /// The keys that received a response, the oldest first. Entries of dropped responses stay here
    /// until `tidy()`.
    var order: ArraySlice<(owner: Owner, name: ExactText)> = []
    /// The length of `order` at which `tidy()` is called.
    var tidyAt = 1_024
  }

  private let contents = LockedState(Contents())
  private let bound: Int

  /// `bound` is the most bytes that all responses may take.
  init(bound: Int = ScreenIdempotency.maximumBytesInAll) {
    self.bound = bound
  }

  /// The response to an earlier request with this key. If there was none, returns `nil`, and the
  /// key is in use until `settle`.
  ///
  /// - Throws: `IdempotencyKeyInUseError`, `IdempotencyKeyReusedError`.
  package func take(_ key: IdempotencyKey, of owner: Owner, at now: Int64) throws -> StoredResponse? {
    try contents.withLock { contents in
      var keys = contents.owners[owner] ?? Keys(lastUse: now)
      defer { contents.owners[owner] = keys }
      keys.lastUse = now
      guard let known = keys.kept[key.key.exact] else {
        keys.kept[key.key.exact] = Kept(fingerprint: key.fingerprint)
        return nil
      }
      guard known.fingerprint == key.fingerprint else { throw IdempotencyKeyReusedError() }
      guard let response = known.response else { throw IdempotencyKeyInUseError() }
      return response
    }
  }

  /// Ends the use of a key. Without a response, the client may send the request again.
  package func settle(_ key: IdempotencyKey, of owner: Owner, _ response: StoredResponse?) {
    contents.withLock { contents in
      let name = key.key.exact
      guard let response else {
        contents.owners[owner]?.kept[name] = nil
        // Otherwise, each request for a screen that does not exist would leave an owner here.
        if contents.owners[owner]?.kept.isEmpty == true { contents.owners[owner] = nil }
        return
      }
      contents.bytes += contents.owners[owner]?.keep(response, as: name) ?? 0
      contents.order.append((owner, name))
      while contents.bytes > bound, let oldest = contents.order.popFirst() {
        contents.drop(oldest.name, of: oldest.owner)
      }
      // Removes the dropped keys from `order` before there are many more of them than kept keys.
      if contents.order.count > contents.tidyAt { contents.tidy() }
    }
  }

  /// Drops the responses about an anonymous screen that has ended, but not the keys in use.
  func forget(_ owner: Owner) {
    contents.withLock { contents in
      for name in contents.owners[owner]?.order ?? [] { contents.drop(name, of: owner) }
    }
  }

  /// Drops the owners that have sent no request since `moment`, except owners with a key in use.
  func forget(before moment: Int64) {
    contents.withLock { contents in
      for (owner, keys) in contents.owners where keys.lastUse <= moment && keys.kept.count <= keys.order.count {
        contents.owners[owner] = nil
        contents.bytes -= keys.bytes
      }
      contents.tidy()
    }
  }

  var ownerCount: Int { contents.withLock { $0.owners.count } }

  var bytes: Int { contents.withLock { $0.bytes } }
}

extension ScreenIdempotency.Contents {
  /// Drops a response, and its owner if the owner has no other key.
  fileprivate mutating func drop(_ name: ExactText, of owner: ScreenIdempotency.Owner) {
    guard let index = owners[owner]?.order.firstIndex(of: name), let response = owners[owner]?.kept[name]?.response
    else {
      return
    }
    owners[owner]?.order.remove(at: index)
    owners[owner]?.kept[name] = nil
    let length = ScreenIdempotency.Keys.length(response)
    owners[owner]?.bytes -= length
    bytes -= length
    if owners[owner]?.kept.isEmpty == true { owners[owner] = nil }
  }

  /// Removes dropped keys from `order`.
  fileprivate mutating func tidy() {
    order = order.filter { owners[$0.owner]?.kept[$0.name]?.response != nil }[...]
    tidyAt = 2 * order.count + 1_024
  }
}

extension ScreenIdempotency.Keys {
  /// Keeps a response, and drops the oldest ones if necessary. Returns the growth of `bytes`.
  fileprivate mutating func keep(_ response: StoredResponse, as name: ExactText) -> Int {
    let before = bytes
    kept[name]?.response = response
    order.append(name)
    bytes += Self.length(response)
    while order.count > 1, order.count > ScreenIdempotency.maximumKeys || bytes > ScreenIdempotency.maximumBytes {
      guard let oldest = kept.removeValue(forKey: order.removeFirst())?.response else { continue }
      bytes -= Self.length(oldest)
    }
    return bytes - before
  }

  /// The approximate memory of a response and its key, in bytes.
  fileprivate static func length(_ response: StoredResponse) -> Int {
    512 + response.fields.count + (response.body?.count ?? 0)
  }
}
