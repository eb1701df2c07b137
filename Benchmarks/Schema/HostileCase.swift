import LockstepJSON

/// A schema and a value whose check takes as many steps as the budget allows, or nearly so.
struct HostileCase {
  let name: String
  let schema: JSON
  let value: JSON

  static let all = [branches, unions, alternatives, repeated, deepRepeated, strings, choices, names, dependencies]

  /// 2^40 branches.
  private static let branches = HostileCase(
    name: "2^40 branches",
    schema: [
      "$ref": "#/$defs/0",
      "$defs": .object(
        JSONObject(
          (0...20).map { level in
            let next: JSON = ["$ref": .string("#/$defs/\(level + 1)")]
            return ("\(level)", level == 20 ? false : ["anyOf": [next, next, next, next]])
          }
        )
      ),
    ],
    value: 1
  )

  private static let unions = HostileCase(
    name: "60,000 elements, anyOf of 30",
    schema: [
      "items": ["anyOf": .array((0..<30).map { ["type": "object", "required": [.string("member\($0)")]] })]
    ],
    value: .array((0..<60_000).map { ["other": JSON($0)] })
  )

  /// Each element fails an alternative before it matches the next one.
  private static let alternatives = HostileCase(
    name: "200,000 elements, two alternatives",
    schema: ["items": ["anyOf": [["enum": ["a", "b", "c"], "minimum": 1_000_000], ["minimum": 1]]]],
    value: .array((0..<200_000).map { JSON($0 + 1) } + [0])
  )

  private static let repeated = HostileCase(
    name: "uniqueItems, 300,000 numbers",
    schema: ["uniqueItems": true],
    value: .array((0..<300_000).map { JSON($0) } + [0])
  )

  private static let deepRepeated = HostileCase(
    name: "uniqueItems at 100 levels",
    schema: ["$ref": "#/$defs/a", "$defs": ["a": ["uniqueItems": true, "items": ["$ref": "#/$defs/a"]]]],
    value: (0..<100).reduce(.array((0..<20_000).map { JSON($0) })) { value, _ in [value] }
  )

  private static let strings = HostileCase(
    name: "maxLength of 1 MiB, 100 times",
    schema: ["allOf": .array((0..<100).map { ["maxLength": JSON(500_000 + $0)] })],
    value: .string(String(repeating: "é", count: 524_288))
  )

  private static let choices = HostileCase(
    name: "100,000 elements, enum of 1,000",
    schema: ["items": ["enum": .array((0..<1_000).map { [JSON($0), [JSON($0)]] })]],
    value: .array((0..<100_000).map { [JSON($0 % 1_000), [JSON($0 % 1_000)]] } + [0])
  )

  private static let names = HostileCase(
    name: "100,000 members, 10 times",
    schema: [
      "allOf": .array(
        (0..<10).map { ["properties": [.init("name\($0)"): false], "additionalProperties": ["minimum": 0]] }
      )
    ],
    value: .object(JSONObject((0..<100_000).map { ("member\($0)", JSON($0)) } + [("name9", 1)]))
  )

  private static let dependencies = HostileCase(
    name: "dependentRequired of 5,000 names",
    schema: ["items": ["dependentRequired": ["a": .array((0..<5_000).map { .string("n\($0)") })]]],
    value: .array(Array(repeating: ["a": 1, "b": 1, "c": 1], count: 10_000))
  )
}
