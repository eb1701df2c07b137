// Checks values by schemas, for scripts/schema.
//
// Each line of stdin is {"schema": …, "values": […]}. For each line, the program prints one:
// {"values": [[{"pointer", "detail"}, …], …]} with the faults of each value, {"schema": […]} with the
// faults of the schema, or {"parsing": "…"} if the line is not JSON that the server accepts.

import LockstepJSON
import LockstepSchema

func json(_ faults: [SchemaFault]) -> JSON {
  .array(faults.map { ["pointer": .string($0.pointer), "detail": .string($0.detail)] })
}

func response(to line: String) -> JSON {
  do {
    let request = try JSON(parsing: line)
    let schema = try ValueSchema(request["schema"] ?? .null)
    let values = request["values"]?.arrayValue ?? []
    return ["values": .array(values.map { json(schema.faults(of: $0)) })]
  } catch let error as InvalidSchemaError {
    return ["schema": json(error.faults)]
  } catch {
    return ["parsing": .string("\(error)")]
  }
}

while let line = readLine() { print(response(to: line)) }
