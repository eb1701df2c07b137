import LockstepJSON

/// Merges a write with a value that another device has changed meanwhile. `current` is the server's value; nil if it
/// was removed. `mine` is the value that this device has tried to write. The closure returns the value to write
/// instead. If it returns nil, the client drops the write: `confirmed` throws the conflict, and `refusedWrites` does
/// not have the write.
///
/// The client may call the closure several times, and long after the app has made the write. If the app was restarted
/// meanwhile, if another process sends the write, or if the type cannot read the server's value, a conflict makes the
/// write a refused write.
public typealias ConflictResolver<Value> = @Sendable (_ current: Value?, _ mine: Value) async -> Value?

/// The condition that no other device has changed the elements, keys or objects of a write since the state on which the
/// write is based.
struct WriteCondition: Sendable {
  /// Gets the current value, and returns the actions to send instead. Nil: the write is dropped. If this throws, the
  /// write is refused.
  var resolve: (@Sendable (_ current: JSON) async throws -> [ClientAction]?)?
}

extension WriteCondition {
  /// The condition that an app asks for; nil for none. `write` makes the actions of a merged value. `defaults` are the
  /// values of members that the current value may lack.
  init?<Value: Decodable & Sendable>(
    ifUnchanged: Bool,
    mine: Value,
    resolve: ConflictResolver<Value>?,
    defaults: JSONObject = JSONObject(),
    write: @escaping @Sendable (Value) throws -> [ClientAction]
  ) {
    guard ifUnchanged || resolve != nil else { return nil }
    guard let resolve else {
      self.init(resolve: nil)
      return
    }
    self.init { current in
      let theirs = current.isNull ? nil : ElementCoding.decode(Value.self, from: current.encoded(), defaults)
      // For the app, nil means that the value was removed.
      if theirs == nil, !current.isNull { throw ClientFailure(.app, "\(Value.self) cannot read the present value.") }
      guard let merged = await resolve(theirs, mine) else { return nil }
      return try write(merged)
    }
  }
}
