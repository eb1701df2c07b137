import LockstepJSON

/// The sentences for faults. They contain no part of the value, and at most a few hundred bytes of the
/// schema.
enum FaultText {
  /// How many values of an `enum` are listed, and how many bytes they may have.
  private static let listedChoices = 10
  private static let listedBytes = 200
  /// How many bytes of a name are quoted.
  private static let quotedBytes = 64

  static let tooManySteps = SchemaFault(
    pointer: "",
    detail: "Checking this value takes too many steps. Make it smaller or less deep."
  )

  static let missing = "It is missing."
  static let extraMember = "This member is not allowed here. Check its name."
  static let containsNone = "At least one of its elements must match the schema in contains."
  static let forbiddenMatch = "It must not match the schema in not."

  static func missing(because name: String) -> String { "It is missing, and required beside \(quoted(name))." }

  static func noMatch(of count: Int) -> String {
    "It must match at least one of the \(counted(count, "schema")) in anyOf, and matches none."
  }

  static func noMatch(ofOne count: Int) -> String {
    "It must match exactly one of the \(counted(count, "schema")) in oneOf, and matches none."
  }

  static func manyMatches(_ first: Int, _ second: Int) -> String {
    "It must match exactly one schema in oneOf, and matches /oneOf/\(first) and /oneOf/\(second)."
  }

  static func repeated(_ first: Int, _ second: Int) -> String {
    "Its elements must be unique, and /\(first) equals /\(second)."
  }

  // MARK: Types

  /// A type with its article, such as `an object`.
  static func type(of value: JSON) -> String { withArticle(value.typeName) }

  static func wrongType(of value: JSON, allowed: ValueTypes) -> String {
    guard !allowed.isEmpty else { return "No value is allowed here." }
    let names = ValueTypes.names.filter { allowed.contains($0.type) }.map { withArticle($0.name) }
    let isFraction = ValueTypes(of: value).contains(.number) && allowed.contains(.integer)
    return "It must be \(list(names, "or")), and is \(isFraction ? "a fraction" : type(of: value))."
  }

  private static func withArticle(_ type: String) -> String {
    switch type {
    case "null": "null"
    case "object", "array", "integer": "an \(type)"
    default: "a \(type)"
    }
  }

  // MARK: Values

  static func noChoice(of choices: ChoiceTable) -> String {
    let texts = listed(choices.values)
    let rest = choices.values.count - texts.count
    if choices.isConst { return "It must be \(texts.first ?? "the value of const")." }
    guard !texts.isEmpty else { return "It must be one of the \(counted(choices.values.count, "value")) in enum." }
    return "It must be \(rest > 0 ? texts.joined(separator: ", ") + " or one of \(rest) others" : list(texts, "or"))."
  }

  /// The first values as JSON, if they are short.
  private static func listed(_ values: [JSON]) -> [String] {
    var texts: [String] = []
    var byteCount = 0
    for value in values.prefix(listedChoices) {
      let text = value.description
      byteCount += text.utf8.count
      guard byteCount <= listedBytes else { break }
      texts.append(text)
    }
    return texts
  }

  static func bound(_ relation: String, _ number: ExactNumber) -> String { "It must be \(relation) \(number.json)." }

  static func length(_ count: Int, _ rules: StringRules) -> String {
    sizeFault(count, rules.minimumLength, rules.maximumLength, "character")
  }

  static func memberCount(_ count: Int, _ rules: ObjectRules) -> String {
    sizeFault(count, rules.minimumCount, rules.maximumCount, "member")
  }

  static func elementCount(_ count: Int, _ rules: ArrayRules) -> String {
    sizeFault(count, rules.minimumCount, rules.maximumCount, "element")
  }

  private static func sizeFault(_ count: Int, _ minimum: Int, _ maximum: Int, _ noun: String) -> String {
    let bound = count < minimum ? "at least \(counted(minimum, noun))" : "at most \(counted(maximum, noun))"
    return "It must have \(bound), and has \(count)."
  }

  static func format(_ format: StringFormat) -> String {
    switch format {
    case .dateTime: "It must be a date and time with an offset (RFC 3339), such as 2026-11-23T18:25:43Z."
    case .date: "It must be a date (RFC 3339), such as 2026-11-23."
    case .email: "It must be an e-mail address, such as ada@example.com."
    case .uri: "It must be a URI with a scheme, such as https://example.com/."
    case .uuid: "It must be a UUID, such as 2eb8aa08-aa98-41ea-b4aa-73b441d16380."
    }
  }

  // MARK: Parts of sentences

  /// `a, b or c`.
  static func list(_ items: [String], _ conjunction: String) -> String {
    guard let last = items.last, items.count > 1 else { return items.first ?? "" }
    return "\(items.dropLast().joined(separator: ", ")) \(conjunction) \(last)"
  }

  /// A name as JSON, cut if it is long.
  static func quoted(_ name: String) -> String {
    guard name.utf8.count > quotedBytes else { return JSON.string(name).description }
    var (cut, byteCount) = ("", 0)
    for scalar in name.unicodeScalars {
      byteCount += UTF8.width(scalar)
      guard byteCount <= quotedBytes else { break }
      cut.unicodeScalars.append(scalar)
    }
    return JSON.string(cut + "…").description
  }

  private static func counted(_ count: Int, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }
}

extension ExactNumber {
  fileprivate var json: JSON {
    switch self {
    case .signed(let integer): .integer(integer)
    case .unsigned(let integer): .unsigned(integer)
    case .double(let double): .double(double)
    }
  }
}
