import LockstepJSON
import LockstepSchema
import Testing

@Suite(.timeLimit(.minutes(10))) struct SchemaFaultTests {
  @Test("A faulty keyword is refused with a pointer to it", arguments: cases)
  func faults(_ schema: String, _ expected: [String]) throws {
    #expect(try schemaFaults(schema) == expected)
  }

  @Test("Keywords of JSON Schema that are not supported are refused and named", arguments: unsupported)
  func unsupportedKeyword(_ keyword: String) {
    let faults = schemaFaults(["properties": ["a": [.init(keyword): "x"]]])
    #expect(faults == ["/properties/a/\(keyword): The keyword \"\(keyword)\" is not supported."])
  }

  @Test("All faults are listed in the order of the schema, at most 100")
  func manyFaults() throws {
    #expect(
      try schemaFaults(#"{"pattern": "", "properties": {"a": 1, "b": {"type": 2}}, "minLength": -1}"#).map {
        $0.prefix { $0 != ":" }
      } == ["/pattern", "/properties/a", "/properties/b/type", "/minLength"]
    )
    #expect(schemaFaults(.object(JSONObject((0..<500).map { ("keyword\($0)", 1) }))).count == 100)
  }

  @Test("The error's description names each fault")
  func description() {
    let error = #expect(throws: InvalidSchemaError.self) { try ValueSchema(["type": "text", "minItems": true]) }
    #expect(
      error?.description == """
        /type: It must be null, boolean, object, array, number, string or integer, or an array of these with at least one.
        /minItems: It must be a whole number of at least 0.
        """
    )
    let root = #expect(throws: InvalidSchemaError.self) { try ValueSchema(1) }
    #expect(root?.description == "The schema: A schema must be an object, true or false, and is a number.")
  }

  private static let unsupported = [
    "pattern", "patternProperties", "$id", "$anchor", "$dynamicRef", "$dynamicAnchor", "unevaluatedProperties",
    "unevaluatedItems", "definitions", "dependencies", "dependentSchemas", "minContains", "maxContains",
    "propertyNames",
    "contentEncoding", "contentMediaType", "contentSchema", "additionalItems", "$vocabulary", "id", "$recursiveRef",
  ]

  private static let count = "It must be a whole number of at least 0."
  private static let schemas = "It must be an array of schemas with at least one."
  private static let reference = ##"It must be a string of the form "#/$defs/name"."##
  private static let types =
    "It must be null, boolean, object, array, number, string or integer, or an array of these with at least one."

  private static let cases: [(String, [String])] = [
    ("1", [": A schema must be an object, true or false, and is a number."]),
    ("null", [": A schema must be an object, true or false, and is null."]),
    (#"{"items": []}"#, ["/items: A schema must be an object, true or false, and is an array."]),
    (#"{"minlength": 1}"#, [#"/minlength: The keyword "minlength" is unknown. Check its name."#]),
    (#"{"a/b": 1}"#, [#"/a~1b: The keyword "a/b" is unknown. Check its name."#]),
    (#"{"type": "text"}"#, ["/type: \(types)"]), (#"{"type": []}"#, ["/type: \(types)"]),
    (#"{"type": ["null", 1]}"#, ["/type: \(types)"]), (#"{"type": null}"#, ["/type: \(types)"]),
    (#"{"type": ["null", "string", "null"]}"#, ["/type: Its types must be unique."]),
    (#"{"enum": 1}"#, ["/enum: It must be an array, and is a number."]),
    (#"{"minLength": -1}"#, ["/minLength: \(count)"]), (#"{"maxLength": 1.5}"#, ["/maxLength: \(count)"]),
    (#"{"minItems": "1"}"#, ["/minItems: \(count)"]), (#"{"maxItems": -0.5}"#, ["/maxItems: \(count)"]),
    (#"{"minProperties": null}"#, ["/minProperties: \(count)"]),
    (#"{"maxProperties": []}"#, ["/maxProperties: \(count)"]),
    (#"{"minimum": "1"}"#, ["/minimum: It must be a number, and is a string."]),
    (#"{"exclusiveMaximum": true}"#, ["/exclusiveMaximum: It must be a number, and is a boolean."]),
    (#"{"multipleOf": 0}"#, ["/multipleOf: It must be greater than 0."]),
    (#"{"multipleOf": -0.1}"#, ["/multipleOf: It must be greater than 0."]),
    (#"{"uniqueItems": 1}"#, ["/uniqueItems: It must be true or false, and is a number."]),
    (#"{"required": "a"}"#, ["/required: It must be an array of strings, and is a string."]),
    (#"{"required": ["a", 1]}"#, ["/required: It must be an array of strings."]),
    (#"{"required": ["a", "b", "a"]}"#, ["/required: Its strings must be unique."]),
    (#"{"dependentRequired": []}"#, ["/dependentRequired: It must be an object, and is an array."]),
    (#"{"dependentRequired": {"a": ["b", "b"]}}"#, ["/dependentRequired/a: Its strings must be unique."]),
    (#"{"properties": []}"#, ["/properties: It must be an object, and is an array."]),
    (#"{"properties": {"a": 1}}"#, ["/properties/a: A schema must be an object, true or false, and is a number."]),
    (#"{"allOf": []}"#, ["/allOf: \(schemas)"]), (#"{"anyOf": {}}"#, ["/anyOf: \(schemas)"]),
    (#"{"oneOf": [1]}"#, ["/oneOf/0: A schema must be an object, true or false, and is a number."]),
    (#"{"prefixItems": []}"#, ["/prefixItems: \(schemas)"]),
    (#"{"format": "time"}"#, ["/format: It must be date-time, date, email, uri or uuid."]),
    (#"{"format": 1}"#, ["/format: It must be date-time, date, email, uri or uuid."]),
    (#"{"title": 1}"#, ["/title: It must be a string, and is a number."]),
    (#"{"description": null}"#, ["/description: It must be a string, and is null."]),
    (#"{"$comment": []}"#, ["/$comment: It must be a string, and is an array."]),
    (#"{"examples": {}}"#, ["/examples: It must be an array, and is an object."]),
    (#"{"deprecated": "yes"}"#, ["/deprecated: It must be true or false, and is a string."]),
    (#"{"readOnly": 0}"#, ["/readOnly: It must be true or false, and is a number."]),
    (#"{"writeOnly": null}"#, ["/writeOnly: It must be true or false, and is null."]),
    (
      #"{"$schema": "http://json-schema.org/draft-07/schema#"}"#,
      [#"/$schema: It must be "https://json-schema.org/draft/2020-12/schema"."#]
    ),
    (
      #"{"items": {"$schema": "https://json-schema.org/draft/2020-12/schema"}}"#,
      ["/items/$schema: It is allowed only at the root of the schema."]
    ),
    (#"{"$defs": []}"#, ["/$defs: It must be an object, and is an array."]),
    (#"{"$defs": {"a": 1}}"#, ["/$defs/a: A schema must be an object, true or false, and is a number."]),
    (#"{"not": {"$defs": {}}}"#, ["/not/$defs: It is allowed only at the root of the schema."]),
    (##"{"$ref": "#/$defs/a"}"##, ["/$ref: The schema has no such entry in $defs."]),
    (##"{"$ref": "#"}"##, ["/$ref: \(reference)"]), (##"{"$ref": "#/properties/a"}"##, ["/$ref: \(reference)"]),
    (##"{"$ref": "#/$defs/a/items"}"##, ["/$ref: \(reference)"]),
    (##"{"$ref": "#/$defs/%zz"}"##, ["/$ref: \(reference)"]),
    (##"{"$ref": "#/$defs/%ff"}"##, ["/$ref: \(reference)"]), (##"{"$ref": "#/$defs/a~2"}"##, ["/$ref: \(reference)"]),
    (##"{"$ref": "other.json#/$defs/a"}"##, ["/$ref: \(reference)"]), (#"{"$ref": 1}"#, ["/$ref: \(reference)"]),
    (
      #"{"if": 1, "then": null, "else": []}"#,
      [
        "/if: A schema must be an object, true or false, and is a number.",
        "/then: A schema must be an object, true or false, and is null.",
        "/else: A schema must be an object, true or false, and is an array.",
      ]
    ),
  ]
}
