import LockstepJSON

/// One type of an action as clients send it, `{"type", "payload"}`: what its payload is made of, read and described from
/// one source.
public struct ActionCase<Action: Sendable>: Sendable {
  /// Its type.
  public let type: String
  /// The payload's JSON Schema.
  let payload: JSON
  /// Reads a payload that somebody from this network sent. Throws every fault of it.
  let read: @Sendable (JSON, ClientNetwork) throws(Refusal) -> Action

  /// An action of this type, whose fields `make` puts together.
  ///
  /// - Parameters:
  ///   - type: Its type.
  ///   - field: What the payload is made of. All that is wrong with them is told at once, and so is a member that none of
  ///     them knows.
  ///   - make: Makes the action of the fields' values.
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

/// A value that a reader without faults has read.
package func present<Value>(_ value: Value?) throws(Refusal) -> Value {
  guard let value else { throw .invalid("", "It can't be read.") }
  return value
}

extension Array {
  /// Reads an action, `{"type", "payload"}`. Throws every fault, at its place in that.
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

  /// The cases as the catalogue shows them.
  package func catalogue<Action>() -> JSON where Element == ActionCase<Action> {
    .array(map { ["type": .string($0.type), "payload": $0.payload] })
  }
}

extension Refusal {
  /// The same with its faults further down.
  package func moved(under pointer: String) -> Refusal {
    guard case .invalid(let faults) = self else { return self }
    return .invalid(faults.map { FieldFault(pointer: pointer + $0.pointer, detail: $0.detail) })
  }
}
