import LockstepJSON

/// Why a value is invalid. Only the faults that are listed become sentences.
enum FaultReason {
  case wrongType(found: ValueTypes, allowed: ValueTypes)
  case noChoice(ChoiceTable)
  case length(Int, StringRules)
  case format(StringFormat)
  case belowMinimum(ExactNumber)
  case aboveMaximum(ExactNumber)
  case notAbove(ExactNumber)
  case notBelow(ExactNumber)
  case notMultiple(ExactNumber)
  case elementCount(Int, ArrayRules)
  case repeatedElements(Int, Int)
  case containsNone
  case memberCount(Int, ObjectRules)
  case missing
  case missingBeside(String)
  case extraMember
  case matchesNone(of: Int)
  case matchesNoneOfOne(of: Int)
  case matchesSeveral(Int, Int)
  case matchesNot

  /// Whether the value is of a wrong type, or none of the right values.
  var rulesOut: Bool {
    switch self {
    case .wrongType, .noChoice: true
    default: false
    }
  }

  /// The reason in one sentence. It contains no part of the value, and at most a few hundred bytes of
  /// the schema.
  var detail: String {
    switch self {
    case .wrongType(let found, let allowed): Self.typeDetail(found, allowed)
    case .noChoice(let choices): Self.choiceDetail(choices)
    case .length(let count, let rules):
      Self.countDetail(count, rules.minimumLength, rules.maximumLength, "character")
    case .format(let format): Self.detail(of: format)
    case .belowMinimum(let bound): "It must be at least \(bound.json)."
    case .aboveMaximum(let bound): "It must be at most \(bound.json)."
    case .notAbove(let bound): "It must be greater than \(bound.json)."
    case .notBelow(let bound): "It must be less than \(bound.json)."
    case .notMultiple(let divisor): "It must be a multiple of \(divisor.json)."
    case .elementCount(let count, let rules):
      Self.countDetail(count, rules.minimumCount, rules.maximumCount, "element")
    case .repeatedElements(let first, let second):
      "Its elements must be unique, and /\(first) equals /\(second)."
    case .containsNone: "At least one of its elements must match the schema in contains."
    case .memberCount(let count, let rules):
      Self.countDetail(count, rules.minimumCount, rules.maximumCount, "member")
    case .missing: "It is missing."
    case .missingBeside(let name): "It is missing, and required beside \(FaultText.quoted(name))."
    case .extraMember: "This member is not allowed here. Check its name."
    case .matchesNone(let count):
      count == 1
        ? "It must match the schema in anyOf."
        : "It must match at least one of the \(count) schemas in anyOf, and matches none."
    case .matchesNoneOfOne(let count):
      count == 1
        ? "It must match the schema in oneOf."
        : "It must match exactly one of the \(count) schemas in oneOf, and matches none."
    case .matchesSeveral(let first, let second):
      "It must match exactly one schema in oneOf, and matches /oneOf/\(first) and /oneOf/\(second)."
    case .matchesNot: "It must not match the schema in not."
    }
  }
}

// MARK: - Sentences

extension FaultReason {
  /// How many values of an `enum` are listed, and how many bytes they may have.
  private static let listedChoices = 10
  private static let listedBytes = 200

  private static func typeDetail(_ found: ValueTypes, _ allowed: ValueTypes) -> String {
    guard !allowed.isEmpty else { return "No value is allowed here." }
    let names = ValueTypes.names.filter { allowed.contains($0.type) }.map { FaultText.withArticle($0.name) }
    let isFraction = found.contains(.number) && allowed.contains(.integer)
    let name = ValueTypes.names.first { found.contains($0.type) }?.name ?? "null"
    return "It must be \(FaultText.list(names)), and is \(isFraction ? "a fraction" : FaultText.withArticle(name))."
  }

  private static func choiceDetail(_ choices: ChoiceTable) -> String {
    let texts = listed(choices.values)
    let rest = choices.values.count - texts.count
    if choices.isConst { return "It must be \(texts.first ?? "the value of const")." }
    guard !texts.isEmpty else {
      return "It must be one of the \(FaultText.counted(choices.values.count, "value")) in enum."
    }
    guard rest > 0 else { return "It must be \(FaultText.list(texts))." }
    return "It must be \(texts.joined(separator: ", ")) or one of \(FaultText.counted(rest, "other"))."
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

  private static func countDetail(_ count: Int, _ minimum: Int, _ maximum: Int, _ noun: String) -> String {
    let isTooSmall = count < minimum
    let bound = "at \(isTooSmall ? "least" : "most") \(FaultText.counted(isTooSmall ? minimum : maximum, noun))"
    return "It must have \(bound), and has \(count)."
  }

  private static func detail(of format: StringFormat) -> String {
    switch format {
    case .dateTime: "It must be a date and time with an offset (RFC 3339), such as 2026-11-23T18:25:43Z."
    case .date: "It must be a date (RFC 3339), such as 2026-11-23."
    case .email: "It must be an e-mail address, such as ada@example.com."
    case .uri: "It must be a URI with a scheme, such as https://example.com/."
    case .uuid: "It must be a UUID, such as 2eb8aa08-aa98-41ea-b4aa-73b441d16380."
    }
  }
}
