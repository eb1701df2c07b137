import LockstepJSON
import LockstepSchema
import Testing

@Suite(.timeLimit(.minutes(10))) struct ReferenceTests {
  @Test("A $ref finds its entry by any spelling of its name", arguments: spellings)
  func spelling(_ reference: String, _ name: String) throws {
    let schema = try ValueSchema(["$ref": .string(reference), "$defs": [.init(name): ["type": "null"], "other": true]])
    #expect(schema.isValid(nil))
    #expect(!schema.isValid(1))
  }

  @Test("A recursive schema checks all levels of a tree")
  func trees() throws {
    let tree = """
      {"$ref": "#/$defs/node", "$defs": {"node": {"type": "object", "required": ["name"],
       "properties": {"name": {"type": "string"}, "children": {"items": {"$ref": "#/$defs/node"}}},
       "additionalProperties": {"$ref": "#/$defs/node"}}}}
      """
    #expect(
      try faults(tree, #"{"name": "a", "children": [{"name": "b", "children": []}], "other": {"name": "c"}}"#) == []
    )
    let value = #"{"name": "a", "children": [{"name": "b", "children": [{"name": 1}]}], "other": {}}"#
    #expect(
      try listedFaults(tree, value) == [
        "/children/0/children/0/name: It must be a string, and is a number.", "/other/name: It is missing.",
      ]
    )
  }

  @Test("Entries refer to each other in any order")
  func order() throws {
    let schema = """
      {"items": {"$ref": "#/$defs/b"}, "$defs": {"b": {"anyOf": [{"$ref": "#/$defs/a"}, {"type": "null"}]},
       "a": {"$ref": "#/$defs/c", "minimum": 1}, "c": {"type": "number"}}}
      """
    #expect(try faults(schema, "[null, 1]").isEmpty)
    #expect(try faults(schema, "[\"\"]").count == 1)
  }

  @Test("A schema that applies itself to the same value is refused", arguments: cycles)
  func cycle(_ schema: String, _ pointer: String) throws {
    #expect(try schemaFaults(schema) == ["\(pointer): This $ref leads back to itself for the same value."])
  }

  @Test("A $ref without other keywords stands for its target")
  func alias() throws {
    let schema = """
      {"properties": {"a": {"$ref": "#/$defs/a"}, "b": {"$ref": "#/$defs/no"}}, "additionalProperties": {"$ref": "#/$defs/yes"},
       "$defs": {"a": {"$ref": "#/$defs/b", "title": "A"}, "b": {"$ref": "#/$defs/c"}, "c": {"minimum": 1},
       "no": false, "yes": {"description": "Any value"}}}
      """
    #expect(try faults(schema, #"{"a": 1, "c": 0}"#).isEmpty)
    #expect(
      try listedFaults(schema, #"{"a": 0, "b": 0}"#) == ["/a: It must be at least 1.", "/b: No value is allowed here."]
    )
  }

  private static let spellings: [(String, String)] = [
    ("#/$defs/name", "name"), ("#/%24defs/name", "name"), ("#/$defs/a~1b~0c", "a/b~c"), ("#/$defs/a%7E1b", "a/b"),
    ("#/$defs/a%25b", "a%b"), ("#/$defs/%C3%A9", "é"), ("#/$defs/é", "é"), ("#/$defs/", ""), ("#/$defs/a%22b", "a\"b"),
  ]

  private static let cycles: [(String, String)] = [
    (##"{"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}"##, "/$defs/a/$ref"),
    (##"{"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}"##, "/$defs/b/$ref"),
    (##"{"$defs": {"a": {"allOf": [true, {"$ref": "#/$defs/a"}]}}}"##, "/$defs/a/allOf/1/$ref"),
    (##"{"$defs": {"a": {"anyOf": [{"not": {"if": {"$ref": "#/$defs/a"}}}]}}}"##, "/$defs/a/anyOf/0/not/if/$ref"),
    (
      ##"{"$defs": {"a": {"oneOf": [{"items": {"$ref": "#/$defs/a"}, "then": {"$ref": "#/$defs/a"}}]}}}"##,
      "/$defs/a/oneOf/0/then/$ref"
    ),
    (
      ##"{"items": {"else": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"minimum": 1, "$ref": "#/$defs/b"}, "b": {"allOf": [{"$ref": "#/$defs/a"}]}}}"##,
      "/$defs/b/allOf/0/$ref"
    ),
  ]
}
