import LockstepJSON

/// One type of action, as clients send it: `{"type", "payload"}`. One declaration of the payload's
/// fields reads it and describes it.
public struct ActionCase<Action: Sendable>: Sendable {
  /// The `type` of the action.
  public let type: String
  @usableFromInline let payload: JSON
  /// Reads a payload that was sent from this network. Throws all of its faults.
  @usableFromInline let read: @Sendable (JSON, ClientNetwork) throws(Refusal) -> Action

  /// An action with fields. `make` creates it from their values.
  ///
  /// - Parameters:
  ///   - type: The `type` of the action.
  ///   - field: The fields of the payload. A payload with other members is refused. One response
  ///     names all faults.
  ///   - make: Creates the action from the values of the fields.
  @inlinable  // Each write reads a payload. Without specialization, it takes three times as long.
  public init<each Value: Sendable>(
    _ type: String,
    _ field: repeat PayloadField<each Value>,
    make: @escaping @Sendable (repeat each Value) -> Action
  ) {
    self.type = type
    var members: [SchemaMember] = []
    repeat members += (each field).members
    payload = .closedSchema(of: members)
    read = { payload, network throws(Refusal) in
      var reader = PayloadReader(payload)
      let values = (repeat (each field).read(&reader, network))
      try reader.finish()
      return make(repeat try present(each values))
    }
  }
}

@inlinable
package func present<Value>(_ value: Value?) throws(Refusal) -> Value {
  guard let value else { throw .invalid("", "It cannot be read.") }
  return value
}

extension Array {
  /// Reads an action, `{"type", "payload"}`. Throws all faults, with pointers into the action.
  package func read<Action>(_ action: JSON, from network: ClientNetwork) throws(Refusal) -> Action
  where Element == ActionCase<Action> {
    var reader = PayloadReader(action)
    let (type, payload) = (reader.text("type"), reader.value("payload"))
    try reader.finish()
    guard let found = first(where: { $0.type == type }) else {
      let known = map(\.type).joined(separator: ", ")
      throw .invalid("/type", "There is no action “\(type ?? "")”, only \(known).")
    }
    do throws(Refusal) {
      return try found.read(payload ?? [:], network)
    } catch {
      throw error.moved(under: "/payload")
    }
  }

  package func catalogue<Action>() -> JSON where Element == ActionCase<Action> {
    .array(map { ["type": .string($0.type), "payload": $0.payload] })
  }
}

extension Refusal {
  /// The same refusal, with the pointers of its faults moved under `pointer`.
  package func moved(under pointer: String) -> Refusal {
    guard case .invalid(let faults) = self else { return self }
    return .invalid(faults.map { FieldFault(pointer: pointer + $0.pointer, detail: $0.detail) })
  }
}
