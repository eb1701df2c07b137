import LockstepJSON
import LockstepSchema
import Testing

@Suite(.timeLimit(.minutes(10))) struct FaultTests {
  @Test("A fault points at its place and says what is wrong", arguments: cases)
  func pointers(_ schema: String, _ value: String, _ expected: [String]) throws {
    #expect(try listedFaults(schema, value) == expected)
  }

  @Test("Faults are in the order of the members, and missing members come last")
  func order() throws {
    let schema = """
      {"allOf": [{"properties": {"c": {"type": "null"}}}, {"properties": {"a": {"type": "null"}}}],
       "properties": {"b": {"items": {"type": "null"}}}, "required": ["y", "x"], "maxProperties": 2}
      """
    let pointers = try faults(schema, #"{"a": 1, "b": [1, null, 2], "c": 3}"#).map(\.pointer)
    #expect(pointers == ["", "/a", "/b/0", "/b/2", "/c", "/y", "/x"])
  }

  @Test("The same fault of several schemas is listed once")
  func repetition() throws {
    let schema = #"{"allOf": [{"type": "string"}, {"type": "string"}, {"maxLength": 0}]}"#
    #expect(try listedFaults(schema, "1") == [": It must be a string, and is a number."])
  }

  @Test("Faults of members whose names look alike are all listed")
  func equivalentNames() throws {
    let found = try faults(#"{"additionalProperties": {"type": "null"}}"#, "{\"\u{E9}\": 1, \"e\u{301}\": 1}")
    #expect(found.map { Array($0.pointer.utf8) } == [Array("/\u{E9}".utf8), Array("/e\u{301}".utf8)])
  }

  @Test("At most 100 faults are listed, the first ones")
  func manyFaults() throws {
    let schema = try ValueSchema(["items": ["type": "string"]])
    let faults = schema.faults(of: .array((0..<500).map { JSON($0) }))
    #expect(faults.map(\.pointer) == (0..<100).map { "/\($0)" })
  }

  @Test("Faults at long names end the list early")
  func longNames() throws {
    let schema = try ValueSchema(["additionalProperties": ["items": false]])
    let name = String(repeating: "n", count: 200_000)
    let faults = schema.faults(of: [.init(name): .array((0..<500).map { JSON($0) })])
    #expect(faults.map(\.pointer) == ["/\(name)/0"])
  }

  @Test("A long list of choices is cut")
  func manyChoices() throws {
    let numbers = try ValueSchema(["enum": .array((0..<1_000).map { JSON($0) })])
    let detail = "It must be 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 or one of 990 others."
    #expect(numbers.faults(of: nil).map(\.detail) == [detail])
    let text = String(repeating: "x", count: 500)
    let long = try ValueSchema(["enum": [.string(text), "b"]])
    #expect(long.faults(of: nil).map(\.detail) == ["It must be one of the 2 values in enum."])
    let constant = try ValueSchema(["const": .string(text)])
    #expect(constant.faults(of: nil).map(\.detail) == ["It must be the value of const."])
  }

  @Test("Long names in details are cut")
  func longNamesInDetails() throws {
    let name = String(repeating: "ä", count: 100)
    let schema = try ValueSchema(["dependentRequired": [.init(name): ["b"]]])
    let detail = "It is missing, and required beside \"\(String(repeating: "ä", count: 32))…\"."
    #expect(schema.faults(of: [.init(name): 1]).map(\.detail) == [detail])
  }

  private static let cases: [(String, String, [String])] = values + children + combinations

  private static let values: [(String, String, [String])] = [
    ("false", "1", [": No value is allowed here."]),
    (#"{"type": "string"}"#, "1", [": It must be a string, and is a number."]),
    (#"{"type": "integer"}"#, "1.5", [": It must be an integer, and is a fraction."]),
    (
      #"{"type": ["null", "object", "integer"]}"#, "[]",
      [": It must be null, an object or an integer, and is an array."]
    ),
    (#"{"type": "object"}"#, "null", [": It must be an object, and is null."]),
    (#"{"const": "a"}"#, "1", [": It must be \"a\"."]),
    (#"{"enum": ["a", 1, null]}"#, "2", [": It must be \"a\", 1 or null."]),
    (#"{"maxLength": 1}"#, "\"ab\"", [": It must have at most 1 character, and has 2."]),
    (#"{"minLength": 3}"#, "\"ab\"", [": It must have at least 3 characters, and has 2."]),
    (#"{"minimum": 1}"#, "0", [": It must be at least 1."]),
    (#"{"maximum": 1.5}"#, "2", [": It must be at most 1.5."]),
    (#"{"exclusiveMinimum": 1}"#, "1", [": It must be greater than 1."]),
    (#"{"exclusiveMaximum": 1}"#, "1", [": It must be less than 1."]),
    (#"{"multipleOf": 0.1}"#, "0.25", [": It must be a multiple of 0.1."]),
    (
      #"{"maxLength": 3, "format": "date"}"#, "\"soon\"",
      [": It must have at most 3 characters, and has 4.", ": It must be a date (RFC 3339), such as 2026-11-23."]
    ),
  ]

  private static let children: [(String, String, [String])] = [
    (#"{"required": ["song"]}"#, "{}", ["/song: It is missing."]),
    (#"{"required": ["a/b~c"]}"#, "{}", ["/a~1b~0c: It is missing."]),
    (
      #"{"properties": {"a": true}, "additionalProperties": false}"#, #"{"a": 1, "b/": 2}"#,
      ["/b~1: This member is not allowed here. Check its name."]
    ),
    (#"{"properties": {"a": false}}"#, #"{"a": 1}"#, ["/a: No value is allowed here."]),
    (
      #"{"dependentRequired": {"a": ["b"]}}"#, #"{"a": 1}"#, [#"/b: It is missing, and required beside "a"."#]
    ),
    (#"{"minProperties": 2}"#, #"{"a": 1}"#, [": It must have at least 2 members, and has 1."]),
    (#"{"maxProperties": 0}"#, #"{"a": 1}"#, [": It must have at most 0 members, and has 1."]),
    (#"{"minItems": 1}"#, "[]", [": It must have at least 1 element, and has 0."]),
    (#"{"maxItems": 1}"#, "[1, 2]", [": It must have at most 1 element, and has 2."]),
    (#"{"uniqueItems": true}"#, "[1, 2, 1.0]", [": Its elements must be unique, and /0 equals /2."]),
    (
      #"{"properties": {"a": {"contains": {"const": 1}}}}"#, #"{"a": [2, 3]}"#,
      ["/a: At least one of its elements must match the schema in contains."]
    ),
    (
      #"{"items": {"properties": {"a": {"prefixItems": [true, {"type": "null"}]}}}}"#, #"[{}, {"a": [1, 2]}]"#,
      ["/1/a/1: It must be null, and is a number."]
    ),
  ]

  private static let combinations: [(String, String, [String])] = [
    (#"{"not": {"type": "string"}}"#, "\"\"", [": It must not match the schema in not."]),
    (
      #"{"properties": {"a": {"oneOf": [true, false, {}]}}}"#, #"{"a": 1}"#,
      ["/a: It must match exactly one schema in oneOf, and matches /oneOf/0 and /oneOf/2."]
    ),
    (
      #"{"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}"#, "{}",
      [": It must match at least one of the 2 schemas in anyOf, and matches none."]
    ),
    (
      #"{"anyOf": [false], "oneOf": [false]}"#, "1",
      [": It must match the schema in anyOf.", ": It must match the schema in oneOf."]
    ),
    // Only one alternative has the type of the value.
    (
      #"{"anyOf": [{"type": "null"}, {"type": "string", "maxLength": 1}]}"#, "\"ab\"",
      [
        ": It must match at least one of the 2 schemas in anyOf, and matches none.",
        ": It must have at most 1 character, and has 2.",
      ]
    ),
    // Only one alternative has the kind of the value.
    (
      """
      {"oneOf": [{"properties": {"kind": {"const": "a"}}, "required": ["x"]},
                 {"properties": {"kind": {"const": "b"}, "y": {"items": {"type": "string"}}}}]}
      """, #"{"kind": "b", "y": [1]}"#,
      [
        ": It must match exactly one of the 2 schemas in oneOf, and matches none.",
        "/y/0: It must be a string, and is a number.",
      ]
    ),
    // The alternatives inside an alternative.
    (
      #"{"anyOf": [{"type": "array", "items": {"anyOf": [{"type": "null"}, {"type": "string", "minLength": 1}]}}, false]}"#,
      "[null, \"\"]",
      [
        ": It must match at least one of the 2 schemas in anyOf, and matches none.",
        "/1: It must match at least one of the 2 schemas in anyOf, and matches none.",
        "/1: It must have at least 1 character, and has 0.",
      ]
    ),
    (
      #"{"if": {"required": ["a"]}, "then": {"required": ["b"]}, "else": {"required": ["c"]}}"#, #"{"a": 1}"#,
      ["/b: It is missing."]
    ),
    (#"{"if": {"required": ["a"]}, "else": {"required": ["c"]}}"#, "{}", ["/c: It is missing."]),
    (
      #"{"allOf": [{"minimum": 1}, {"type": "null"}]}"#, "0",
      [": It must be at least 1.", ": It must be null, and is a number."]
    ),
    (
      ##"{"$ref": "#/$defs/a", "minimum": 2, "$defs": {"a": {"type": "null"}}}"##, "1",
      [": It must be at least 2.", ": It must be null, and is a number."]
    ),
  ]
}
