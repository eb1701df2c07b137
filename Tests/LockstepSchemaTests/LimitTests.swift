import Foundation
import LockstepJSON
import LockstepSchema
import Testing

@Suite(.timeLimit(.minutes(10))) struct LimitTests {
  @Test("A schema of more than 65,536 bytes is refused")
  func bytes() {
    let atLimit: JSON = ["title": .string(String(repeating: "x", count: SchemaLimit.bytes - 12))]
    #expect(atLimit.encodedByteCount == 65_536)
    #expect(schemaFaults(atLimit) == [])
    let above: JSON = ["title": .string(String(repeating: "x", count: SchemaLimit.bytes - 11))]
    #expect(schemaFaults(above) == [": It must have at most 65536 bytes, and has 65537."])
  }

  @Test("A schema of more than 64 levels is refused, however deep it is")
  func depth() {
    func nested(_ levels: Int) -> JSON { (0..<levels).reduce(.object([:])) { inner, _ in ["items": inner] } }
    #expect(schemaFaults(nested(63)) == [])
    #expect(schemaFaults(nested(64)) == [": It must not be nested deeper than 64 levels."])
    #expect(schemaFaults(nested(1_000)) == [": It must not be nested deeper than 64 levels."])
  }

  @Test("A schema of more than 2,000 schemas is refused")
  func subschemas() {
    func many(_ count: Int) -> JSON { ["anyOf": .array(Array(repeating: ["minimum": 1], count: count))] }
    #expect(schemaFaults(many(1_999)) == [])
    #expect(schemaFaults(many(2_000)) == ["/anyOf/1999: A schema must contain at most 2000 schemas."])
  }

  @Test("More than 256 entries in $defs are refused")
  func definitions() {
    func many(_ count: Int) -> JSON { ["$defs": .object(JSONObject((0..<count).map { ("d\($0)", true) }))] }
    #expect(schemaFaults(many(256)) == [])
    #expect(schemaFaults(many(257)) == ["/$defs: It must have at most 256 entries, and has 257."])
  }

  @Test("More than 1,000 values in enum are refused")
  func choices() {
    func many(_ count: Int) -> JSON { ["enum": .array((0..<count).map { JSON($0) })] }
    #expect(schemaFaults(many(1_000)) == [])
    #expect(schemaFaults(many(1_001)) == ["/enum: It must have at most 1000 values, and has 1001."])
  }

  @Test("More than 64 schemas inside each other for the same value are refused")
  func chains() {
    func chain(_ length: Int) -> JSON {
      let entries = (1...length).map { number in
        ("d\(number)", number == length ? true : ["$ref": .string("#/$defs/d\(number + 1)"), "minimum": 1] as JSON)
      }
      return ["$defs": .object(JSONObject(entries))]
    }
    #expect(schemaFaults(chain(64)) == [])
    #expect(
      schemaFaults(chain(65)) == [
        "/$defs/d1: It applies more than 64 schemas, one inside the other, to the same value."
      ]
    )
    #expect(schemaFaults(chain(200)).count == 1)
  }

  @Test("A value whose check takes too many steps is one fault", arguments: HostileValue.all)
  func steps(_ item: HostileValue) throws {
    let schema = try ValueSchema(item.schema)
    #expect(schema.faults(of: item.value).map { "\($0.pointer): \($0.detail)" } == [tooManySteps])
    #expect(!schema.isValid(item.value))
  }

  @Test("Large values that need few steps for each part are checked to the end")
  func largeValues() throws {
    let numbers = JSON.array((0..<200_000).map { JSON($0) })
    #expect(try ValueSchema(["uniqueItems": true]).isValid(numbers))
    #expect(try ValueSchema(["items": ["type": "integer", "minimum": 0]]).isValid(numbers))
    let names = JSON.object(JSONObject((0..<100_000).map { ("member\($0)", JSON($0)) }))
    #expect(try ValueSchema(["additionalProperties": ["type": "integer"]]).isValid(names))
    let text = JSON.string(String(repeating: "é", count: 1 << 20))
    #expect(try ValueSchema(["maxLength": 1_048_576, "format": "email"]).faults(of: text).count == 1)
    let wide = try ValueSchema(["items": ["enum": .array((0..<1_000).map { .string("choice \($0)") })]])
    #expect(wide.isValid(.array((0..<200_000).map { .string("choice \($0 % 1_000)") })))
  }

  @Test("Elements that differ only at a deep level are found to be unique")
  func deepElements() throws {
    let elements = (0..<2_000).map { number in (0..<20).reduce(JSON(number)) { inner, _ in [inner] } }
    let schema = try ValueSchema(["uniqueItems": true])
    #expect(schema.isValid(.array(elements)))
    #expect(
      schema.faults(of: .array(elements + [elements[7]])).map(\.detail) == [
        "Its elements must be unique, and /7 equals /2000."
      ]
    )
  }

  @Test("The faults of nested alternatives take little memory", arguments: ["anyOf", "oneOf"])
  func nestedAlternatives(_ keyword: String) throws {
    let next: JSON = ["items": ["$ref": "#/$defs/a"], "type": "array", "minItems": 1, "maxItems": 0]
    let schema = try ValueSchema(["$ref": "#/$defs/a", "$defs": ["a": [.init(keyword): [next, ["type": "null"]]]]])
    let value = (0..<200).reduce(JSON.array(Array(repeating: 1, count: 1_000))) { inner, _ in [inner] }
    let faults = schema.faults(of: value)
    #expect((1...100).contains(faults.count))
    #expect(faults.first?.pointer == "")
  }

  @Test("A check fits into a stack of 512 KiB, whatever the value and the schema are", arguments: DeepValue.all)
  func stackOfChecks(_ item: DeepValue) async throws {
    let schema = try ValueSchema(item.schema)
    let deepest = item.value(levels: SchemaLimit.nesting / item.schemasPerLevel - 1)
    let faults = await onSmallStack { schema.faults(of: deepest) }
    #expect(!faults.isEmpty && !faults.contains { $0.detail.contains("too many steps") })
    let tooDeep = item.value(levels: 1_000)
    let stopped = await onSmallStack { schema.faults(of: tooDeep) }
    #expect(stopped.map { "\($0.pointer): \($0.detail)" } == [tooManySteps])
  }

  @Test("Compiling fits into a stack of 512 KiB, whatever the schema is", arguments: ["items", "not"])
  func stackOfCompiling(_ keyword: String) async {
    let deepest = (0..<62).reduce(["type": "null"] as JSON) { inner, _ in [.init(keyword): inner] }
    #expect(deepest.depth == 63)
    #expect(await onSmallStack { schemaFaults(deepest) } == [])
  }

  /// Runs on a thread of its own.
  private func onSmallStack<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
    #if DEBUG
      // Without optimization, functions need more of the stack.
      let size = 8 << 20
    #else
      let size = 512 << 10
    #endif
    return await withCheckedContinuation { continuation in
      let thread = Thread { continuation.resume(returning: body()) }
      thread.stackSize = size
      thread.start()
    }
  }
}

/// A check of more than a million steps.
struct HostileValue: CustomTestStringConvertible {
  var testDescription: String
  var schema: JSON
  var value: JSON

  static let all = [branches, alternatives, manySchemas, texts, repetitions]

  /// 4^20 ways.
  private static let branches = HostileValue(
    testDescription: "A chain of anyOf",
    schema: chain(of: "anyOf", count: 4, end: false),
    value: 1
  )

  private static let alternatives = HostileValue(
    testDescription: "A chain of oneOf",
    schema: chain(of: "oneOf", count: 2, end: true),
    value: 1
  )

  private static let manySchemas = HostileValue(
    testDescription: "Many schemas for each element",
    schema: ["items": ["allOf": .array((0..<1_000).map { ["minimum": JSON(-$0)] })]],
    value: .array((0..<2_000).map { JSON($0) })
  )

  private static let texts = HostileValue(
    testDescription: "Many schemas for a long text",
    schema: ["allOf": .array((0..<1_000).map { ["minLength": JSON(1 + $0)] })],
    value: .string(String(repeating: "a", count: 1 << 20))
  )

  private static let repetitions = HostileValue(
    testDescription: "uniqueItems at many levels",
    schema: ["$ref": "#/$defs/a", "$defs": ["a": ["uniqueItems": true, "items": ["$ref": "#/$defs/a"]]]],
    value: (0..<100).reduce(.array((0..<20_000).map { JSON($0) })) { inner, _ in [inner, 0] }
  )

  private static func chain(of keyword: String, count: Int, end: JSON) -> JSON {
    let entries = (0...20).map { level in
      let next: JSON = ["$ref": .string("#/$defs/d\(level + 1)")]
      return ("d\(level)", level == 20 ? end : [.init(keyword): .array(Array(repeating: next, count: count) + [false])])
    }
    return ["$ref": "#/$defs/d0", "$defs": .object(JSONObject(entries))]
  }
}

/// A recursive schema, and values of any depth that are invalid at their deepest level.
struct DeepValue: CustomTestStringConvertible {
  var testDescription: String
  var schema: JSON
  var schemasPerLevel: Int
  var isArray: Bool

  static let all: [DeepValue] = [
    DeepValue("items", 1, ["items": again]), DeepValue("prefixItems", 1, ["prefixItems": [again]]),
    DeepValue("contains", 1, ["contains": again]),
    DeepValue("uniqueItems", 1, ["uniqueItems": true, "items": again]),
    DeepValue("properties", 1, ["properties": ["a": again]], isArray: false),
    DeepValue("additionalProperties", 1, ["additionalProperties": again], isArray: false),
    DeepValue("allOf", 2, ["allOf": [["items": again]]]), DeepValue("anyOf", 2, ["anyOf": [["items": again]]]),
    DeepValue("oneOf", 2, ["oneOf": [["properties": ["a": again]]]], isArray: false),
    DeepValue("oneOf of anyOf", 3, ["oneOf": [["anyOf": [["properties": ["a": again]]]]]], isArray: false),
    DeepValue("oneOf of oneOf", 4, ["oneOf": [["oneOf": [["oneOf": [["items": again]]]]]]]),
    DeepValue("not", 3, ["not": ["not": ["items": again]]]),
    DeepValue("if", 2, ["if": ["items": again], "else": false]),
  ]

  init(_ name: String, _ schemasPerLevel: Int, _ schema: JSON, isArray: Bool = true) {
    testDescription = name
    self.schemasPerLevel = schemasPerLevel
    self.isArray = isArray
    var rules = schema.objectValue ?? [:]
    rules["maximum"] = 5
    self.schema = ["$ref": "#/$defs/a", "$defs": ["a": .object(rules)]]
  }

  private static let again: JSON = ["$ref": "#/$defs/a"]

  func value(levels: Int) -> JSON { (0..<levels).reduce(6) { inner, _ in isArray ? [inner] : ["a": inner] } }
}
