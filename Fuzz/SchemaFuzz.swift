// A libFuzzer target for scripts/fuzz, compiled in one module with Sources/LockstepSchema.
//
// The first line of the input is a schema, and the rest is a value. If a property does not hold, the
// process ends, and libFuzzer reports the input.

import LockstepJSON

/// Checks one input. libFuzzer keeps the bytes valid during the call.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzSchema(_ start: UnsafeRawPointer?, _ count: Int) -> CInt {
  let input = UnsafeRawBufferPointer(start: start, count: count)
  let end = input.firstIndex(of: UInt8(ascii: "\n")) ?? input.count
  guard let schema = try? JSON(parsing: UnsafeRawBufferPointer(rebasing: input[..<end])) else { return 0 }
  guard let compiled = compile(schema) else { return 0 }
  // A schema is also a value with the right names and types.
  checkValue(schema, compiled)
  if let value = try? JSON(parsing: UnsafeRawBufferPointer(rebasing: input[min(end + 1, count)...])) {
    checkValue(value, compiled)
    checkConstant(value)
  }
  return 0
}

private func compile(_ schema: JSON) -> ValueSchema? {
  do throws(InvalidSchemaError) {
    let compiled = try ValueSchema(schema)
    check(compiled.json == schema, "a compiled schema keeps its JSON")
    return compiled
  } catch {
    checkList(error.faults)
    check(!error.faults.isEmpty, "an invalid schema has a fault")
    for fault in error.faults {
      check(pointer(fault).map { schema[$0] != nil } ?? false, "a fault of a schema points at a part of it")
    }
    return nil
  }
}

private func checkValue(_ value: JSON, _ schema: ValueSchema) {
  let faults = schema.faults(of: value)
  check(faults.isEmpty == schema.isValid(value), "both functions agree")
  check(faults == schema.faults(of: value), "a check is deterministic")
  checkList(faults)
  for fault in faults {
    guard let pointer = pointer(fault) else { return check(false, "a fault has a pointer") }
    let parent = JSONPointer(tokens: Array(pointer.tokens.dropLast()))
    check(value[pointer] != nil || value[parent]?.objectValue != nil, "a fault points at a value or a missing member")
  }
  guard faults.first != ValueSchema.tooManySteps, let negated = try? ValueSchema(["not": ["not": inlined(schema.json)]])
  else { return }
  let again = negated.faults(of: value)
  check(again.first == ValueSchema.tooManySteps || again.isEmpty == faults.isEmpty, "two negations change nothing")
}

/// A schema without `$defs` and `$schema`, which are allowed only at the root.
private func inlined(_ schema: JSON) -> JSON {
  guard var object = schema.objectValue else { return schema }
  object["$defs"] = nil
  object["$schema"] = nil
  return .object(object)
}

/// A value equals itself and no other.
private func checkConstant(_ value: JSON) {
  guard let constant = try? ValueSchema(["const": value]), let choices = try? ValueSchema(["enum": [0, value]]),
    let pair = try? ValueSchema(["uniqueItems": true])
  else { return }
  check(constant.isValid(value) && choices.isValid(value), "a value is its own constant")
  check(!pair.isValid([value, value]), "a value is not unique beside itself")
  check(pair.isValid([value, [value]]), "a value differs from an array that contains it")
}

private func checkList(_ faults: [SchemaFault]) {
  check(faults.count <= SchemaLimit.faults, "the list of faults is short")
  check(Set(faults).count == faults.count, "a fault is listed once")
  for fault in faults {
    check(fault.detail.utf8.count <= 600, "a detail is short")
    check(fault.detail.utf8.last == UInt8(ascii: "."), "a detail is a sentence")
  }
}

private func pointer(_ fault: SchemaFault) -> JSONPointer? { try? JSONPointer(parsing: fault.pointer) }

private func check(_ isTrue: Bool, _ property: StaticString) {
  precondition(isTrue, "does not hold: \(property)")
}
