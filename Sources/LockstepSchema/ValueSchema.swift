import LockstepJSON

/// A JSON Schema (2020-12) that is compiled once and checks many values.
///
/// Schemas use the keywords that `Keyword` lists, and `$ref` names an entry of `$defs`. Schemas and
/// values may be hostile: `SchemaLimit` bounds the time, the memory and the stack of both functions.
package struct ValueSchema: Sendable {
  /// The fault of a value whose check takes too many steps.
  static let tooManySteps = SchemaFault(
    pointer: "",
    detail: "Checking this value takes too many steps. Make it smaller or less deep."
  )

  /// The schema as it was given.
  package let json: JSON
  private let compiled: CompiledSchema

  /// Compiles a schema.
  ///
  /// - Throws: All faults of the schema, with pointers into it.
  package init(_ schema: JSON) throws(InvalidSchemaError) {
    compiled = try SchemaCompiler.compile(schema)
    json = schema
  }

  /// Whether the value has no faults. Allocates no memory for most schemas.
  package func isValid(_ value: JSON) -> Bool {
    var check = ValueCheck(compiled, collectsFaults: false)
    return check.isValid(value)
  }

  /// The faults of a value, in the order of its members. There are none if it is valid.
  ///
  /// A value whose check takes more than `SchemaLimit.steps` is invalid, with one fault that says so.
  package func faults(of value: JSON) -> [SchemaFault] {
    var check = ValueCheck(compiled, collectsFaults: false)
    if check.isValid(value) { return [] }
    guard !check.isExhausted else { return [Self.tooManySteps] }
    // Most values are valid, so only this second check keeps track of pointers.
    var collecting = ValueCheck(compiled, collectsFaults: true)
    _ = collecting.isValid(value)
    let faults = collecting.faults.list()
    return faults.isEmpty ? [Self.tooManySteps] : faults
  }
}
