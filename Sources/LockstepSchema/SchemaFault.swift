import LockstepJSON

/// A fault of a value, or of a schema.
package struct SchemaFault: Sendable, Hashable {
  /// A JSON Pointer to the place in the value or in the schema, for example `/tracks/0/title`.
  package let pointer: String
  /// The fault in one sentence. It does not repeat the value.
  package let detail: String

  package init(pointer: String, detail: String) {
    self.pointer = pointer
    self.detail = detail
  }

  /// Compares bytes, because the pointer has names of the value.
  package static func == (left: SchemaFault, right: SchemaFault) -> Bool {
    left.pointer.hasSameBytes(as: right.pointer) && left.detail.hasSameBytes(as: right.detail)
  }

  package func hash(into hasher: inout Hasher) { pointer.hashBytes(into: &hasher) }
}

/// The faults of a schema that cannot be compiled.
package struct InvalidSchemaError: Error, Sendable, Hashable, CustomStringConvertible {
  /// At least one, and at most `SchemaLimit.faults`.
  package let faults: [SchemaFault]

  package init(faults: [SchemaFault]) { self.faults = faults }

  package var description: String {
    faults.map { "\($0.pointer.isEmpty ? "The schema" : $0.pointer): \($0.detail)" }.joined(separator: "\n")
  }
}
