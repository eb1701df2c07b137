import LockstepJSON

/// One type of action. Clients send an action as `{"type", "payload"}`. The same declaration of
/// fields reads payloads and describes them in the catalogue.
public struct ActionCase<Action: Sendable>: Sendable {
  /// The `type` of the action.
  public let type: String
  @usableFromInline let payload: JSON
  /// The JSON Pointer of a member of the payload that two fields read, which is a mistake in the
  /// declaration.
  @usableFromInline let repeatedMember: String?
  /// Makes an action from its payload and the client's network. Throws all faults of the payload.
  @usableFromInline let read: @Sendable (JSON, ClientNetwork, WorkBudget?) throws(Refusal) -> Action

  init(
    type: String,
    payload: JSON,
    repeatedMember: String?,
    read: @escaping @Sendable (JSON, ClientNetwork, WorkBudget?) throws(Refusal) -> Action
  ) {
    (self.type, self.payload, self.repeatedMember, self.read) = (type, payload, repeatedMember, read)
  }

  /// Declares an action with these fields.
  ///
  /// - Parameters:
  ///   - type: The `type` of the action.
  ///   - field: The fields of the payload. A payload with other members is refused. One response
  ///     names all faults of a payload.
  ///   - make: Creates the action from the values of the fields.
  @inlinable  // Each write reads a payload. Unspecialized, it would take three times as long.
  public init<each Value: Sendable>(
    _ type: String,
    _ field: repeat PayloadField<each Value>,
    make: @escaping @Sendable (repeat each Value) -> Action
  ) {
    self.type = type
    var members: [SchemaMember] = []
    repeat members += (each field).members
    payload = .closedSchema(of: members)
    repeatedMember = members.repeatedMember
    read = { payload, network, budget throws(Refusal) in
      var reader = PayloadReader(payload, budget: budget)
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
  /// Reads an action, `{"type", "payload"}`. Throws all faults of both. Their pointers begin at the action.
  package func read<Action>(_ action: JSON, from network: ClientNetwork) throws(Refusal) -> Action
  where Element == ActionCase<Action> {
    var reader = PayloadReader(action)
    let (type, payload) = (reader.text("type"), reader.value("payload"))
    guard let found = first(where: { $0.type == type }) else {
      let known = map(\.type).joined(separator: ", ")
      reader.add([FieldFault(pointer: "/type", detail: "There is no action “\(type ?? "")”, only \(known).")])
      throw reader.refusal
    }
    let read: Action
    do throws(Refusal) { read = try found.read(payload ?? [:], network, nil) } catch {
      try reader.add(error, under: "/payload")
      throw reader.refusal
    }
    try reader.finish()
    return read
  }

  /// The type of the first action whose payload has a member twice, and the JSON Pointer of this
  /// member.
  package func repeatedPayloadMember<Action>() -> (type: String, pointer: String)?
  where Element == ActionCase<Action> {
    lazy.compactMap { action in action.repeatedMember.map { (action.type, $0) } }.first
  }

  package func catalogue<Action>() -> JSON where Element == ActionCase<Action> {
    .array(map { ["type": .string($0.type), "payload": $0.payload] })
  }
}

extension Refusal {
  /// The same refusal, with `pointer` put in front of the pointer of each fault.
  package func moved(under pointer: String) -> Refusal {
    guard case .invalid(let faults) = self else { return self }
    return .invalid(faults.map { FieldFault(pointer: pointer + $0.pointer, detail: $0.detail) })
  }
}
