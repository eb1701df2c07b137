import LockstepJSON
import LockstepSchema
import Testing

/// The script `scripts/schema` compares random checks with another implementation.
@Suite(.timeLimit(.minutes(10))) struct RandomSchemaTests {
  @Test("Both functions agree on random schemas and values, and list at most 100 faults")
  func agreement() {
    var random = RandomSchema(state: 20_261_123)
    var (validCount, invalidCount) = (0, 0)
    for _ in 0..<2_000 {
      guard let schema = try? ValueSchema(random.root()) else { continue }
      for _ in 0..<5 {
        let value = random.value(depth: 3)
        let faults = schema.faults(of: value)
        #expect(schema.isValid(value) == faults.isEmpty, "\(schema.json) and \(value)")
        #expect(faults.count <= 100)
        #expect(schema.faults(of: value) == faults)
        #expect(Set(faults).count == faults.count)
        validCount += faults.isEmpty ? 1 : 0
        invalidCount += faults.isEmpty ? 0 : 1
      }
    }
    #expect(validCount > 1_000 && invalidCount > 1_000)
  }

  @Test("Negating a schema twice changes no result")
  func negation() {
    var random = RandomSchema(state: 42)
    for _ in 0..<1_000 {
      let part = random.schema(depth: 3)
      guard let schema = try? ValueSchema(part), let negated = try? ValueSchema(["not": part]),
        let twice = try? ValueSchema(["not": ["not": part]])
      else { continue }
      for _ in 0..<5 {
        let value = random.value(depth: 3)
        #expect(schema.isValid(value) == !negated.isValid(value), "\(part) and \(value)")
        #expect(schema.isValid(value) == twice.isValid(value), "\(part) and \(value)")
      }
    }
  }
}

/// Makes schemas and values from few names and numbers, so that many values are valid.
private struct RandomSchema {
  /// SplitMix64, whose numbers are the same everywhere.
  var state: UInt64

  mutating func next(below bound: Int) -> Int {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
    return Int((mixed ^ mixed >> 31) % UInt64(bound))
  }

  mutating func pick<Item>(_ items: [Item]) -> Item { items[next(below: items.count)] }

  private static let names = ["a", "b", "c", "a long name of many bytes"]

  mutating func value(depth: Int) -> JSON {
    switch next(below: depth > 0 ? 8 : 5) {
    case 0: pick([nil, true, false])
    case 1, 2: pick([0, 1, 2, 1.0, 0.5, 3.5, -1, .unsigned(.max)])
    case 3, 4: pick(["", "a", "b", "🌌🌌", "2026-11-23"])
    case 5, 6: .array((0..<next(below: 4)).map { _ in value(depth: depth - 1) })
    default: .object(JSONObject((0..<next(below: 4)).map { _ in (pick(Self.names), value(depth: depth - 1)) }))
    }
  }

  mutating func root() -> JSON {
    guard case .object(var schema) = schema(depth: 3) else { return true }
    schema["$defs"] = ["x": self.schema(depth: 2), "y": self.schema(depth: 2)]
    return .object(schema)
  }

  mutating func schema(depth: Int) -> JSON {
    if next(below: 12) == 0 { return pick([true, false, [:]]) }
    var schema = JSONObject()
    for _ in 0..<(1 + next(below: 3)) {
      let (keyword, value) = depth > 0 && next(below: 3) > 0 ? part(depth: depth - 1) : leaf()
      schema[keyword] = value
    }
    return .object(schema)
  }

  private mutating func schemas(_ depth: Int) -> JSON {
    .array((0..<(1 + next(below: 3))).map { _ in schema(depth: depth) })
  }

  private mutating func leaf() -> (String, JSON) {
    let number = JSON(next(below: 4))
    switch next(below: 9) {
    case 0: return ("type", pick(["null", "boolean", "object", "array", "number", "string", "integer"]))
    case 1: return ("const", value(depth: 1))
    case 2: return ("enum", [value(depth: 1), value(depth: 1), value(depth: 0)])
    case 3: return (pick(["minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"]), number)
    case 4: return (pick(["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"]), number)
    case 5: return ("multipleOf", pick([1, 0.5, 2]))
    case 6: return ("required", [.string(pick(Self.names))])
    case 7: return ("format", pick(["date", "uri"]))
    default: return ("uniqueItems", true)
    }
  }

  private mutating func part(depth: Int) -> (String, JSON) {
    switch next(below: 8) {
    case 0, 1: ("properties", [pick(Self.names): schema(depth: depth)])
    case 2: ("additionalProperties", schema(depth: depth))
    case 3: (pick(["items", "contains", "not", "if", "then", "else"]), schema(depth: depth))
    case 4: ("prefixItems", schemas(depth))
    case 5: ("dependentRequired", [pick(Self.names): [.string(pick(Self.names))]])
    case 6: ("$ref", pick(["#/$defs/x", "#/$defs/y"]))
    default: (pick(["allOf", "anyOf", "oneOf"]), schemas(depth))
    }
  }
}
