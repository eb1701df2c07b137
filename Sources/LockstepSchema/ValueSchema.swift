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
    var check = ValueCheck(compiled, steps: SchemaLimit.steps)
    return check.isValid(value)
  }

  /// The faults of a value, in the order of its members. There are none if it is valid.
  ///
  /// A value whose check takes more than `SchemaLimit.steps` is invalid, with one fault that says so.
  package func faults(of value: JSON) -> [SchemaFault] {
    var steps = Int.max
    return faults(of: value, steps: &steps)
  }

  /// Like `faults(of:)`. Takes the steps of the check from `steps`. If they do not suffice, `steps` is
  /// negative after the check, and the faults mean nothing.
  package func faults(of value: JSON, steps: inout Int) -> [SchemaFault] {
    var check = ValueCheck(compiled, steps: min(steps, SchemaLimit.steps))
    if check.isValid(value) {
      steps -= check.budget.spent
      return []
    }
    Self.take(check.budget, from: &steps)
    guard !check.isExhausted, steps >= 0 else { return [Self.tooManySteps] }
    // Most values are valid, so only this second check keeps track of pointers.
    var collecting = ValueCheck(collectingAfter: check, steps: min(steps, SchemaLimit.steps))
    _ = collecting.isValid(value)
    Self.take(collecting.budget, from: &steps)
    let faults = collecting.faults.list()
    return faults.isEmpty ? [Self.tooManySteps] : faults
  }

  /// Takes the steps of a check. The check has ended early because it may take no more, or because the
  /// value has too many levels.
  private static func take(_ budget: StepBudget, from steps: inout Int) {
    let isOver = budget.isExhausted && budget.spent == steps
    steps = isOver ? -1 : steps - budget.spent
  }
}
