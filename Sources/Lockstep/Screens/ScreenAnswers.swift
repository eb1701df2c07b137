import Workers

/// The answers to requests about screens that came with an idempotency key, so that the same request, sent again, isn't done
/// twice.
///
/// Screens are in memory alone, and so are these: an answer is kept for as long as a screen lives after its last request, of
/// each owner the last ones.
final class ScreenAnswers: Sendable {
  /// Whose a key is.
  enum Owner: Sendable, Hashable {
    case session(SessionID)
    /// Of whoever knows the id of a screen that belongs to nobody.
    case screen(String)
  }

  /// How many keys of an owner are kept, at most, and how long their answers may be together.
  static let maximumKeys = 64
  static let maximumBytes = 1024 * 1024

  fileprivate struct Kept: Sendable {
    let fingerprint: [UInt8]
    /// Nil while it's at work.
    var answer: StoredAnswer?
  }

  fileprivate struct Keys: Sendable {
    var kept: [ElementKey: Kept] = [:]
    /// Those that are answered, the oldest first.
    var order: [ElementKey] = []
    var bytes = 0
    var lastUse: Int64
  }

  private let owners = Monitor<[Owner: Keys]>([:])

  /// The answer that was given to a request with this key; nil where there was none: from now on it's at work, until `settle`.
  ///
  /// - Throws: `IdempotencyKeyInUse` where a request with it is at work, `IdempotencyKeyReused` where it was another request's.
  func take(_ key: IdempotencyKey, of owner: Owner, at now: Int64) throws -> StoredAnswer? {
    try owners.withLock { owners in
      var keys = owners[owner] ?? Keys(lastUse: now)
      defer { owners[owner] = keys }
      keys.lastUse = now
      guard let known = keys.kept[ElementKey(key.key)] else {
        keys.kept[ElementKey(key.key)] = Kept(fingerprint: key.fingerprint)
        return nil
      }
      guard known.fingerprint == key.fingerprint else { throw IdempotencyKeyReused() }
      guard let answer = known.answer else { throw IdempotencyKeyInUse() }
      return answer
    }
  }

  /// Says what became of the request with a key that was new; nil: nothing that must stay, and it may be tried again.
  func settle(_ key: IdempotencyKey, of owner: Owner, _ answer: StoredAnswer?) {
    owners.withLock { owners in
      let name = ElementKey(key.key)
      guard let answer else {
        owners[owner]?.kept[name] = nil
        // Anybody may think of any number of screens that there aren't.
        if owners[owner]?.kept.isEmpty == true { owners[owner] = nil }
        return
      }
      owners[owner]?.keep(answer, as: name)
    }
  }

  /// Forgets the owners of whom nothing was heard since a moment and nothing is at work.
  func forget(before moment: Int64) {
    owners.withLock { owners in
      owners = owners.filter { $0.value.lastUse > moment || $0.value.kept.count > $0.value.order.count }
    }
  }

  /// Of how many owners any key is known.
  var ownerCount: Int { owners.withLock { $0.count } }
}

extension ScreenAnswers.Keys {
  fileprivate mutating func keep(_ answer: StoredAnswer, as name: ElementKey) {
    kept[name]?.answer = answer
    order.append(name)
    bytes += Self.length(answer)
    while order.count > 1, order.count > ScreenAnswers.maximumKeys || bytes > ScreenAnswers.maximumBytes {
      guard let oldest = kept.removeValue(forKey: order.removeFirst())?.answer else { continue }
      bytes -= Self.length(oldest)
    }
  }

  private static func length(_ answer: StoredAnswer) -> Int { answer.fields.count + (answer.body?.count ?? 0) }
}
