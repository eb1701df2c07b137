import LockstepJSON
import LockstepSchema

/// Checks values by the JSON Schema of a declared collection.
package struct ValueCheck: Sendable {
  private let schema: ValueSchema
  /// The schema without references, for descriptions.
  package let description: JSON

  package init(_ schema: ValueSchema, description: JSON) { (self.schema, self.description) = (schema, description) }

  /// The faults of a value, with pointers that begin at it.
  package func faults(of value: JSON, _ budget: WorkBudget?) -> [FieldFault] {
    (budget?.faults(of: value, by: schema) ?? schema.faults(of: value))
      .map { FieldFault(pointer: $0.pointer, detail: $0.detail) }
  }

  var refusesNull: Bool { !faults(of: .null, nil).isEmpty }
}
