import LockstepJSON
import LockstepSchema
import Testing

@Suite(.timeLimit(.minutes(10))) struct KeywordTests {
  @Test("Each keyword accepts and refuses what JSON Schema 2020-12 says", arguments: cases)
  func validity(_ item: ValidityCase) throws {
    #expect(try faults(item.schema, item.value).isEmpty == item.isValid)
  }

  @Test("Keywords apply only to values of their types", arguments: typedKeywords)
  func otherTypes(_ schema: String, _ ownType: String) throws {
    let values = ["null": "null", "boolean": "true", "number": "-1.5", "string": "\"\"", "array": "[]", "object": "{}"]
    for (type, value) in values where type != ownType {
      #expect(try faults(schema, value).isEmpty, "\(value)")
    }
  }

  @Test("Annotations have no effect")
  func annotations() throws {
    let schema = """
      {"$schema": "https://json-schema.org/draft/2020-12/schema", "$comment": "", "title": "", "description": "",
       "default": {"type": 5}, "examples": [{"pattern": 1}], "deprecated": true, "readOnly": true,
       "writeOnly": false, "$defs": {"unused": false}}
      """
    #expect(try faults(schema, "1").isEmpty)
    #expect(try faults(#"{"$schema": "https://json-schema.org/draft/2020-12/schema#"}"#, "1").isEmpty)
  }

  @Test("A compiled schema keeps the JSON that it was made of")
  func json() throws {
    let json: JSON = ["type": "string", "title": "Name"]
    #expect(try ValueSchema(json).json.encoded() == json.encoded())
  }

  private static let typedKeywords: [(String, String)] = [
    (#"{"minLength": 9}"#, "string"), (#"{"maxLength": 0, "minLength": 1}"#, "string"),
    (#"{"format": "uuid"}"#, "string"),
    (#"{"minimum": 9}"#, "number"), (#"{"maximum": -9}"#, "number"), (#"{"exclusiveMinimum": 9}"#, "number"),
    (#"{"exclusiveMaximum": -9}"#, "number"), (#"{"multipleOf": 7}"#, "number"),
    (#"{"minItems": 9}"#, "array"), (#"{"contains": true}"#, "array"), (#"{"items": false, "minItems": 1}"#, "array"),
    (#"{"minProperties": 9}"#, "object"), (#"{"required": ["a"]}"#, "object"),
  ]

  private static let cases: [ValidityCase] =
    types + values + strings + numbers + arrays + objects + combinations

  private static let types: [ValidityCase] = [
    valid("true", "1", "null"), invalid("false", "1", "null"), valid("{}", "1", "[{}]"),
    valid(#"{"type": "null"}"#, "null"), invalid(#"{"type": "null"}"#, "false", "0", "\"\"", "[]", "{}"),
    valid(#"{"type": "boolean"}"#, "true", "false"), invalid(#"{"type": "boolean"}"#, "0", "null"),
    valid(#"{"type": "integer"}"#, "1", "1.0", "-0", "1e3", "18446744073709551615", "1e300"),
    invalid(#"{"type": "integer"}"#, "1.5", "1e-1", "\"1\"", "true"),
    valid(#"{"type": "number"}"#, "1", "1.5", "18446744073709551615"), invalid(#"{"type": "number"}"#, "\"1\""),
    valid(#"{"type": "string"}"#, "\"\""), invalid(#"{"type": "string"}"#, "1"),
    valid(#"{"type": "array"}"#, "[]"), invalid(#"{"type": "array"}"#, "{}"),
    valid(#"{"type": "object"}"#, "{}"), invalid(#"{"type": "object"}"#, "[]"),
    valid(#"{"type": ["integer", "null"]}"#, "null", "2"), invalid(#"{"type": ["integer", "null"]}"#, "2.5", "[]"),
  ].flatMap(\.self)

  private static let values: [ValidityCase] = [
    valid(#"{"const": 1}"#, "1", "1.0", "1e0"), invalid(#"{"const": 1}"#, "true", "\"1\"", "1.5"),
    valid(#"{"const": {"a": [1.0], "b": null}}"#, #"{"b": null, "a": [1]}"#),
    invalid(#"{"const": {"a": [1.0], "b": null}}"#, #"{"a": [1]}"#, #"{"a": [true], "b": null}"#),
    valid(#"{"const": 9007199254740993}"#, "9007199254740993"),
    invalid(#"{"const": 9007199254740993}"#, "9007199254740992", "9007199254740992.0"),
    valid(#"{"const": "é"}"#, "\"é\"", "\"\\u00e9\""), invalid(#"{"const": "é"}"#, "\"e\\u0301\""),
    valid(#"{"enum": [1, "a", null, [], {"a": 1}]}"#, "1.0", "\"a\"", "null", "[]", #"{"a": 1.0}"#),
    invalid(#"{"enum": [1, "a", null, [], {"a": 1}]}"#, "2", "\"b\"", "false", "[1]", "{}"),
    invalid(#"{"enum": []}"#, "1", "null"),
    valid(#"{"enum": [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, [1.0], "a"]}"#, "9", "9.0", "[1]", "\"a\""),
    invalid(#"{"enum": [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, [1.0], "a"]}"#, "10", "[2]", "\"b\"", "true"),
    valid(#"{"enum": [1, 2], "const": 2}"#, "2"), invalid(#"{"enum": [1, 2], "const": 2}"#, "1", "3"),
  ].flatMap(\.self)

  private static let strings: [ValidityCase] = [
    valid(#"{"maxLength": 2.0}"#, "\"\"", "\"ab\"", "\"🌌🌌\"", "\"e\\u0301\""),
    invalid(#"{"maxLength": 2}"#, "\"abc\"", "\"🌌🌌🌌\"", "\"e\\u0301e\""),
    valid(#"{"minLength": 2}"#, "\"ab\"", "\"🌌🌌\"", "\"e\\u0301\""),
    invalid(#"{"minLength": 2}"#, "\"\"", "\"a\"", "\"🌌\""),
    valid(#"{"maxLength": 1e300}"#, "\"abc\""), invalid(#"{"minLength": 1e300}"#, "\"abc\""),
    valid(#"{"minLength": 3, "maxLength": 1}"#, "1"), invalid(#"{"minLength": 3, "maxLength": 1}"#, "\"ab\""),
  ].flatMap(\.self)

  private static let numbers: [ValidityCase] = [
    valid(#"{"minimum": 1.5}"#, "1.5", "2"), invalid(#"{"minimum": 1.5}"#, "1", "1.4999"),
    valid(#"{"maximum": 3}"#, "3", "3.0", "-1e300"), invalid(#"{"maximum": 3}"#, "3.0001", "18446744073709551615"),
    valid(#"{"exclusiveMinimum": 1}"#, "1.0001", "2"), invalid(#"{"exclusiveMinimum": 1}"#, "1", "1.0", "0"),
    valid(#"{"exclusiveMaximum": 1}"#, "0.9999"), invalid(#"{"exclusiveMaximum": 1}"#, "1", "1.0"),
  ].flatMap(\.self)

  private static let arrays: [ValidityCase] = [
    valid(#"{"items": {"type": "integer"}}"#, "[]", "[1, 2]"), invalid(#"{"items": {"type": "integer"}}"#, "[1, null]"),
    valid(#"{"prefixItems": [{"type": "string"}, true], "items": false}"#, "[]", "[\"a\"]", "[\"a\", 1]"),
    invalid(#"{"prefixItems": [{"type": "string"}, true], "items": false}"#, "[1]", "[\"a\", 1, 1]"),
    valid(#"{"prefixItems": [{"type": "string"}]}"#, "[\"a\", 1]"),
    valid(#"{"minItems": 1, "maxItems": 2}"#, "[1]", "[1, 2]"),
    invalid(#"{"minItems": 1, "maxItems": 2}"#, "[]", "[1, 2, 3]"),
    valid(#"{"contains": {"const": 1}}"#, "[0, 1]", "[1.0]"), invalid(#"{"contains": {"const": 1}}"#, "[]", "[0]"),
    valid(
      #"{"uniqueItems": true}"#,
      "[]",
      "[1]",
      "[1, true, \"1\", [1], [[1]], {\"a\": 1}]",
      "[{\"a\": 1}, {\"a\": 2}]"
    ),
    invalid(
      #"{"uniqueItems": true}"#,
      "[1, 1.0]",
      "[0, -0]",
      "[[1], [2], [1.0]]",
      #"[{"a": 1, "b": 2}, {"b": 2, "a": 1}]"#,
      "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 3]"
    ),
    valid(#"{"uniqueItems": false}"#, "[1, 1]"),
  ].flatMap(\.self)

  private static let objects: [ValidityCase] = [
    valid(#"{"properties": {"a": {"type": "string"}}}"#, "{}", #"{"a": ""}"#, #"{"b": 1}"#),
    invalid(#"{"properties": {"a": {"type": "string"}}}"#, #"{"a": 1}"#),
    valid(#"{"required": ["a", "b"]}"#, #"{"b": null, "a": null}"#),
    invalid(#"{"required": ["a", "b"]}"#, #"{"a": 1}"#),
    valid(#"{"required": []}"#, "{}"),
    valid(#"{"properties": {"a": true}, "additionalProperties": false}"#, "{}", #"{"a": 1}"#),
    invalid(#"{"properties": {"a": true}, "additionalProperties": false}"#, #"{"a": 1, "b": 1}"#),
    invalid(#"{"required": ["a"], "additionalProperties": false}"#, "{}", #"{"a": 1}"#),
    valid(#"{"properties": {"a": {}}, "additionalProperties": {"type": "null"}}"#, #"{"a": 1, "b": null}"#),
    invalid(#"{"properties": {"a": {}}, "additionalProperties": {"type": "null"}}"#, #"{"a": 1, "b": 1}"#),
    valid(#"{"minProperties": 1, "maxProperties": 2}"#, #"{"a": 1}"#),
    invalid(#"{"minProperties": 1, "maxProperties": 2}"#, "{}", #"{"a": 1, "b": 1, "c": 1}"#),
    valid(#"{"dependentRequired": {"a": ["b", "c"]}}"#, "{}", #"{"b": 1}"#, #"{"a": 1, "b": 1, "c": 1}"#),
    invalid(#"{"dependentRequired": {"a": ["b", "c"]}}"#, #"{"a": 1, "b": 1}"#),
    invalid(#"{"properties": {"é": false}}"#, "{\"\\u00e9\": 1}"),
    valid(#"{"properties": {"é": false}}"#, "{\"e\\u0301\": 1}"),
  ].flatMap(\.self)

  private static let combinations: [ValidityCase] = [
    valid(#"{"allOf": [{"minimum": 1}, {"maximum": 3}]}"#, "2"),
    invalid(#"{"allOf": [{"minimum": 1}, {"maximum": 3}]}"#, "0", "4"),
    valid(#"{"anyOf": [{"minimum": 3}, {"maximum": 1}]}"#, "0", "4"),
    invalid(#"{"anyOf": [{"minimum": 3}, {"maximum": 1}]}"#, "2"),
    valid(#"{"oneOf": [{"minimum": 1}, {"maximum": 3}]}"#, "0", "4"),
    invalid(#"{"oneOf": [{"minimum": 1}, {"maximum": 3}]}"#, "2"),
    invalid(#"{"oneOf": [{"minimum": 3}, {"maximum": 1}]}"#, "2"),
    valid(#"{"not": {"type": "string"}}"#, "1"), invalid(#"{"not": {"type": "string"}}"#, "\"\""),
    invalid(#"{"not": {}}"#, "1"),
    valid(#"{"not": {"not": {"type": "string"}}}"#, "\"\""),
    valid(#"{"if": {"type": "string"}, "then": {"const": "a"}, "else": {"const": 1}}"#, "\"a\"", "1"),
    invalid(#"{"if": {"type": "string"}, "then": {"const": "a"}, "else": {"const": 1}}"#, "\"b\"", "2"),
    valid(#"{"then": false, "else": false}"#, "1"), valid(#"{"if": false, "then": false}"#, "1"),
    valid(#"{"if": false}"#, "1"), invalid(#"{"if": true, "then": false}"#, "1"),
    invalid(#"{"if": false, "else": false}"#, "1"),
  ].flatMap(\.self)
}
