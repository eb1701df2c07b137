import LockstepJSON
import LockstepSchema
import Testing

@Suite("Parts of a value that a schema can reach in many ways", .timeLimit(.minutes(10)))
struct RepeatedCheckTests {
  /// Documents of four kinds of nodes. The member `type` comes last in their JSON.
  private static func nodes(_ type: (String) -> JSON) -> JSON {
    let kinds = ["section", "list", "quote", "note"].map { kind -> JSON in
      [
        "type": "object", "required": ["content", "type"], "additionalProperties": false,
        "properties": ["type": type(kind), "content": ["type": "array", "items": ["$ref": "#/$defs/node"]]],
      ]
    }
    return ["$ref": "#/$defs/node", "$defs": ["node": ["oneOf": .array(kinds)]]]
  }

  private static func document(levels: Int, _ kinds: [String], deepest: String) -> JSON {
    (0..<levels).reduce(["content": [], "type": .string(deepest)]) { inner, level in
      ["content": [inner], "type": .string(kinds[level % kinds.count])]
    }
  }

  private static let kinds = ["section", "note", "list"]
  /// A member with the value, which tells the kind at once, and one that does not.
  private static let plain: @Sendable (String) -> JSON = { ["const": .string($0)] }
  private static let hidden: @Sendable (String) -> JSON = { ["allOf": [["const": .string($0)]]] }

  private static func steps(_ schema: ValueSchema, _ value: JSON) -> (faults: [SchemaFault], steps: Int) {
    var left = 10_000_000
    let faults = schema.faults(of: value, steps: &left)
    return (faults, 10_000_000 - left)
  }

  @Test("The steps for a recursive schema grow with the size of the value", arguments: [true, false])
  func growth(isPlain: Bool) throws {
    let schema = try ValueSchema(Self.nodes(isPlain ? Self.plain : Self.hidden))
    let steps = [20, 40, 60].map { levels in
      let checked = Self.steps(schema, Self.document(levels: levels, Self.kinds, deepest: "quote"))
      #expect(checked.faults == [])
      return checked.steps
    }
    // Each level needs as many steps as any other.
    #expect(steps[2] - steps[1] <= (steps[1] - steps[0]) * 5 / 4, "\(steps)")
    #expect(steps[2] < 60 * 100, "\(steps)")
  }

  @Test("The steps for an invalid value grow with its size too, and its faults are those of its kind")
  func invalid() throws {
    let schema = try ValueSchema(Self.nodes(Self.plain))
    let steps = [40, 80, 120].map { levels in
      let checked = Self.steps(schema, Self.document(levels: levels, Self.kinds, deepest: "quote text"))
      // An alternative lists at most 20 faults.
      #expect(checked.faults.map(\.pointer) == (0...20).map { String(repeating: "/content/0", count: $0) })
      return checked.steps
    }
    #expect(steps[2] - steps[1] <= (steps[1] - steps[0]) * 5 / 4, "\(steps)")
  }

  @Test("A schema that applies itself twice to each part is checked to the end")
  func twice() throws {
    for keyword in ["allOf", "anyOf"] {
      let schema = try ValueSchema([
        "$ref": "#/$defs/a",
        "$defs": ["a": [.init(keyword): [["items": ["$ref": "#/$defs/a"]], ["items": ["$ref": "#/$defs/a"]]]]],
      ])
      #expect(schema.isValid((0..<60).reduce(1) { inner, _ in [inner] }))
    }
    let contained = try ValueSchema([
      "$ref": "#/$defs/a",
      "$defs": ["a": ["type": ["array", "null"], "contains": ["$ref": "#/$defs/a"], "items": ["$ref": "#/$defs/a"]]],
    ])
    #expect(contained.isValid((0..<60).reduce(nil) { inner, _ in [inner] }))
  }

  @Test("A member with const that tells the kind of an object changes no fault")
  func sameFaults() throws {
    let (plain, hidden) = (try ValueSchema(Self.nodes(Self.plain)), try ValueSchema(Self.nodes(Self.hidden)))
    var random = SmallRandom(state: 7)
    var invalidCount = 0
    for _ in 0..<500 {
      let value = random.node(depth: 2)
      let faults = plain.faults(of: value)
      #expect(faults == hidden.faults(of: value), "\(value)")
      invalidCount += faults.isEmpty ? 0 : 1
    }
    #expect((100...450).contains(invalidCount), "\(invalidCount)")
  }

  @Test("The faults of a part are the same, whether it is checked first or after a long part")
  func remembered() throws {
    let schema = Self.nodes(Self.hidden)
    let alone = try ValueSchema(schema)
    let after = try ValueSchema([
      "$defs": schema["$defs"] ?? [:], "prefixItems": [["items": ["type": "integer"]], ["$ref": "#/$defs/node"]],
    ])
    let long = JSON.array((0..<1_000).map { JSON($0) })
    var random = SmallRandom(state: 8)
    for _ in 0..<500 {
      let value = random.node(depth: 3)
      let expected = alone.faults(of: value).map { SchemaFault(pointer: "/1\($0.pointer)", detail: $0.detail) }
      #expect(after.faults(of: [long, value]) == expected, "\(value)")
    }
  }

  @Test("A check that needs more steps than it may take says so, and uses up its steps")
  func tooFewSteps() throws {
    let schema = try ValueSchema(["items": ["type": "integer"]])
    let value = JSON.array((0..<100).map { JSON($0) })
    var steps = 150
    #expect(schema.faults(of: value, steps: &steps) == [] && steps == 49)
    _ = schema.faults(of: value, steps: &steps)
    #expect(steps < 0)
    // The limit of a single value is not the budget's.
    let deep = try ValueSchema(["$ref": "#/$defs/a", "$defs": ["a": ["items": ["$ref": "#/$defs/a"]]]])
    steps = 10_000
    #expect(deep.faults(of: (0..<1_000).reduce(1) { inner, _ in [inner] }, steps: &steps).count == 1)
    #expect(steps > 9_000)
  }
}

/// Makes nodes of documents, of which many are invalid.
private struct SmallRandom {
  /// SplitMix64, whose numbers are the same everywhere.
  var state: UInt64

  private mutating func next(below bound: Int) -> Int {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
    return Int((mixed ^ mixed >> 31) % UInt64(bound))
  }

  mutating func node(depth: Int) -> JSON {
    if next(below: 20) == 0 { return [1, "text", nil, [:]][next(below: 4)] }
    var node = JSONObject()
    let content = (0..<(depth > 0 ? next(below: 3) : 0)).map { _ in self.node(depth: depth - 1) }
    if next(below: 20) > 0 { node["content"] = .array(content) }
    if next(below: 20) > 0 { node["type"] = ["section", "list", "quote", "note", "section", "x"][next(below: 6)] }
    if next(below: 20) == 0 { node["more"] = true }
    return .object(node)
  }
}
