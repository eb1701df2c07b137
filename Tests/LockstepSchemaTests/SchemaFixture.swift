import LockstepJSON
import LockstepSchema
import Testing

/// A schema and a value as JSON text, and whether the value is valid.
struct ValidityCase: CustomTestStringConvertible {
  var schema: String
  var value: String
  var isValid: Bool
  var testDescription: String { "\(schema) and \(value)" }
}

func valid(_ schema: String, _ values: String...) -> [ValidityCase] {
  values.map { ValidityCase(schema: schema, value: $0, isValid: true) }
}

func invalid(_ schema: String, _ values: String...) -> [ValidityCase] {
  values.map { ValidityCase(schema: schema, value: $0, isValid: false) }
}

/// The faults of a value, of which the text is JSON like the schema's.
func faults(_ schema: String, _ value: String) throws -> [SchemaFault] {
  let schema = try ValueSchema(JSON(parsing: schema))
  let value = try JSON(parsing: value)
  let faults = schema.faults(of: value)
  #expect(schema.isValid(value) == faults.isEmpty, "both functions agree")
  return faults
}

/// The faults as text, each as its pointer, a colon and its detail.
func listedFaults(_ schema: String, _ value: String) throws -> [String] {
  try faults(schema, value).map { "\($0.pointer): \($0.detail)" }
}

/// The faults of a schema as text.
func schemaFaults(_ schema: JSON) -> [String] {
  do {
    _ = try ValueSchema(schema)
    return []
  } catch {
    return error.faults.map { "\($0.pointer): \($0.detail)" }
  }
}

func schemaFaults(_ schema: String) throws -> [String] {
  schemaFaults(try JSON(parsing: schema, maximumDepth: JSON.highestDepth))
}

let tooManySteps = ": Checking this value takes too many steps. Make it smaller or less deep."
