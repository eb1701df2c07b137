import LockstepJSON

/// Merges a write with a value that another device has changed meanwhile. Gets the server's value, nil if it is
/// gone, and the one that this device has tried to write. Returns the value to write instead; nil to give up.
///
/// It may be called several times, and later than the write was made. If the app was restarted since, or if
/// another process sends the write, it is not called, and the write is refused.
public typealias ConflictResolver<Value> = @Sendable (_ current: Value?, _ mine: Value) async -> Value?

/// The condition that nothing which a write names has changed since the copy.
struct WriteCondition: Sendable {
  /// Gets the current value, and returns the actions to send instead. Nil: the write is refused.
  var resolve: (@Sendable (_ current: JSON) async -> [ClientAction]?)?
}

extension WriteCondition {
  /// The condition that an app asks for; nil for none. `write` makes the actions of a merged value.
  init?<Value: Decodable & Sendable>(
    ifUnchanged: Bool,
    mine: Value,
    resolve: ConflictResolver<Value>?,
    write: @escaping @Sendable (Value) throws -> [ClientAction]
  ) {
    guard ifUnchanged || resolve != nil else { return nil }
    guard let resolve else {
      self.init(resolve: nil)
      return
    }
    self.init { current in
      let theirs = current.isNull ? nil : ElementCoding.decode(Value.self, from: current.encoded())
      guard let merged = await resolve(theirs, mine) else { return nil }
      return try? write(merged)
    }
  }
}
