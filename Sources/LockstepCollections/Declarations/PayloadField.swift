import LockstepJSON

/// Reads one value from one or several members of a payload, and describes these members.
public struct PayloadField<Value: Sendable>: Sendable {
  @usableFromInline package let members: [SchemaMember]
  /// Reads the value. If that fails, it returns `nil` and adds a fault to the reader.
  @usableFromInline package let read: @Sendable (inout PayloadReader, ClientNetwork) -> Value?

  package init(_ members: [SchemaMember], read: @escaping @Sendable (inout PayloadReader, ClientNetwork) -> Value?) {
    self.members = members
    self.read = read
  }
}

extension PayloadField {
  /// Any string.
  public static func text(_ name: String) -> PayloadField where Value == String {
    PayloadField([SchemaMember(name: name, schema: ["type": "string"])]) { reader, _ in reader.text(name) }
  }

  /// A string. The schema lists the allowed `texts`, but only the reactor checks the value.
  public static func text(_ name: String, oneOf texts: [String]) -> PayloadField where Value == String {
    let schema: JSON = ["type": "string", "enum": .array(texts.map(JSON.string))]
    return PayloadField([SchemaMember(name: name, schema: schema)]) { reader, _ in reader.text(name) }
  }

  /// An id or a key that a client chooses.
  public static func name(_ name: String) -> PayloadField where Value == String {
    PayloadField([SchemaMember(name: name, schema: .nameSchema)]) { reader, _ in reader.name(name) }
  }

  /// True or false.
  public static func flag(_ name: String) -> PayloadField where Value == Bool {
    PayloadField([SchemaMember(name: name, schema: ["type": "boolean"])]) { reader, _ in reader.flag(name) }
  }

  /// An index in a list.
  public static func index(_ name: String) -> PayloadField where Value == Int {
    PayloadField([SchemaMember(name: name, schema: .indexSchema)]) { reader, _ in
      reader.index(name, isRequired: true)
    }
  }
}

extension PayloadField<Int?> {
  /// An optional index in a list.
  public static func optionalIndex(_ name: String) -> PayloadField {
    let schema: JSON = ["type": ["integer", "null"], "minimum": 0]
    return PayloadField([SchemaMember(name: name, schema: schema, isRequired: false)]) { reader, _ in
      .some(reader.index(name))
    }
  }
}

extension PayloadField<JSONObject> {
  /// All members that the fields before this one do not read. They are not checked here, because
  /// the reactor checks them against the state. Their schemas are those of `field`.
  public static func unchecked<Other>(like field: PayloadField<Other>) -> PayloadField {
    PayloadField(field.members) { reader, _ in reader.rest() }
  }
}

extension PayloadField<PatchDocument> {
  /// The operations of a JSON patch (RFC 6902).
  public static func jsonPatch(_ name: String) -> PayloadField {
    PayloadField([SchemaMember(name: name, schema: ["type": "array"])]) { reader, _ in
      guard let json = reader.required(name) else { return nil }
      do throws(Refusal) {
        return try PatchDocument(json)
      } catch {
        if case .invalid(let faults) = error.moved(under: JSONPointer(tokens: [name]).description) {
          reader.add(faults)
        }
        return nil
      }
    }
  }
}

extension PayloadField<ClientNetwork> {
  /// The network of the client that sends the action, for limits on attempts. This field reads no
  /// member of the payload.
  public static var network: PayloadField { PayloadField([]) { _, network in network } }
}

extension JSON {
  package static var indexSchema: JSON { ["type": "integer", "minimum": 0] }
}
