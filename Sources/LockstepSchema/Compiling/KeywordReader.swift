import LockstepJSON

/// Reads the keywords of one schema. Faults go to the compiler.
struct KeywordReader {
  private var subschema = Subschema()
  private var strings = StringRules()
  private var numbers = NumberRules()
  private var arrays = ArrayRules()
  private var combination = Combination()
  private var members = MemberKeywords()
  private var reference: String?
  /// The kinds of rules that there are.
  private var groups: Groups = []

  private struct Groups: OptionSet {
    var rawValue: UInt8
    static let strings = Groups(rawValue: 1)
    static let numbers = Groups(rawValue: 2)
    static let arrays = Groups(rawValue: 4)
    static let objects = Groups(rawValue: 8)
    static let combination = Groups(rawValue: 16)
  }

  /// Reads a keyword, which is the last part of the compiler's path.
  mutating func read(_ name: String, _ value: JSON, _ compiler: inout SchemaCompiler) {
    guard let keyword = Keyword(rawValue: name) else {
      let isKnown = Keyword.unsupported.contains(name)
      let subject = "The keyword \(FaultText.quoted(name))"
      return compiler.add(isKnown ? "\(subject) is not supported." : "\(subject) is unknown. Check its name.")
    }
    switch keyword {
    case .type: readTypes(value, &compiler)
    case .const: subschema.const = addChoices([value], isConst: true, &compiler)
    case .choices: readChoices(value, &compiler)
    case .minLength, .maxLength, .format: readStrings(keyword, value, &compiler)
    case .minimum, .maximum, .exclusiveMinimum, .exclusiveMaximum, .multipleOf:
      readNumbers(keyword, value, &compiler)
    case .items, .prefixItems, .contains, .minItems, .maxItems, .uniqueItems: readArrays(keyword, value, &compiler)
    case .properties, .required, .additionalProperties, .minProperties, .maxProperties, .dependentRequired:
      groups.insert(.objects)
      members.read(keyword, value, &compiler)
    case .allOf, .anyOf, .oneOf, .not, .condition, .then, .otherwise, .reference:
      readCombination(keyword, value, &compiler)
    case .definitions: readDefinitions(value, &compiler)
    case .schema, .comment, .title, .description, .defaultValue, .examples, .deprecated, .readOnly, .writeOnly:
      checkAnnotation(keyword, value, &compiler)
    }
  }

  /// The schema, whose rules are now in the compiler's draft.
  mutating func finish(_ compiler: inout SchemaCompiler) -> Subschema {
    func add<Rules>(_ rules: Rules, to list: inout [Rules]) -> Int32 {
      list.append(rules)
      return Int32(list.count - 1)
    }
    if groups.contains(.strings) { subschema.strings = add(strings, to: &compiler.draft.strings) }
    if groups.contains(.numbers) { subschema.numbers = add(numbers, to: &compiler.draft.numbers) }
    if groups.contains(.arrays) { subschema.arrays = add(arrays, to: &compiler.draft.arrays) }
    if groups.contains(.objects) { subschema.objects = add(members.rules(), to: &compiler.draft.objects) }
    if groups.contains(.combination) {
      if let reference { compiler.refer(to: reference) }
      subschema.combination = add(combination, to: &compiler.draft.combinations)
    }
    return subschema
  }
}

// MARK: - Types, values, strings and numbers

extension KeywordReader {
  private mutating func readTypes(_ value: JSON, _ compiler: inout SchemaCompiler) {
    let names = value.arrayValue?.map(\.stringValue) ?? [value.stringValue]
    let types = names.compactMap { $0.flatMap(ValueTypes.init(name:)) }
    guard !names.isEmpty, types.count == names.count else {
      let all = ValueTypes.names.map(\.name)
      return compiler.add(
        "It must be \(FaultText.list(all)), or an array of these with at least one."
      )
    }
    guard Set(types.map(\.rawValue)).count == types.count else { return compiler.add("Its types must be unique.") }
    subschema.types = ValueTypes(types)
  }

  private mutating func readChoices(_ value: JSON, _ compiler: inout SchemaCompiler) {
    guard let values = value.arrayValue else {
      return compiler.add("It must be an array, and is \(FaultText.type(of: value)).")
    }
    guard values.count <= SchemaLimit.choices else {
      return compiler.add("It must have at most \(SchemaLimit.choices) values, and has \(values.count).")
    }
    subschema.choices = addChoices(values, isConst: false, &compiler)
  }

  private func addChoices(_ values: [JSON], isConst: Bool, _ compiler: inout SchemaCompiler) -> Int32 {
    compiler.draft.choices.append(ChoiceTable(values, isConst: isConst))
    return Int32(compiler.draft.choices.count - 1)
  }

  private mutating func readStrings(_ keyword: Keyword, _ value: JSON, _ compiler: inout SchemaCompiler) {
    groups.insert(.strings)
    switch keyword {
    case .minLength: strings.minimumLength = compiler.count(value) ?? 0
    case .maxLength: strings.maximumLength = compiler.count(value) ?? .max
    default:
      strings.format = value.stringValue.flatMap(StringFormat.init(rawValue:))
      if strings.format == nil {
        compiler.add("It must be \(FaultText.list(StringFormat.allCases.map(\.rawValue))).")
      }
    }
  }

  private mutating func readNumbers(_ keyword: Keyword, _ value: JSON, _ compiler: inout SchemaCompiler) {
    groups.insert(.numbers)
    guard let number = ExactNumber(value) else {
      return compiler.add("It must be a number, and is \(FaultText.type(of: value)).")
    }
    switch keyword {
    case .minimum: numbers.minimum = number
    case .maximum: numbers.maximum = number
    case .exclusiveMinimum: numbers.exclusiveMinimum = number
    case .exclusiveMaximum: numbers.exclusiveMaximum = number
    default:
      guard .signed(0) < number else { return compiler.add("It must be greater than 0.") }
      numbers.multipleOf = number
    }
  }
}

// MARK: - Arrays and combinations

extension KeywordReader {
  private mutating func readArrays(_ keyword: Keyword, _ value: JSON, _ compiler: inout SchemaCompiler) {
    groups.insert(.arrays)
    switch keyword {
    case .items: arrays.items = compiler.readSchema(value)
    case .contains: arrays.contains = compiler.readSchema(value)
    case .prefixItems: arrays.prefix = compiler.readSchemas(value)
    case .minItems: arrays.minimumCount = compiler.count(value) ?? 0
    case .maxItems: arrays.maximumCount = compiler.count(value) ?? .max
    default: arrays.isUnique = compiler.flag(value) ?? false
    }
  }

  private mutating func readCombination(_ keyword: Keyword, _ value: JSON, _ compiler: inout SchemaCompiler) {
    groups.insert(.combination)
    switch keyword {
    case .allOf: combination.all = compiler.readSchemas(value)
    case .anyOf: combination.any = compiler.readSchemas(value)
    case .oneOf: combination.one = compiler.readSchemas(value)
    case .not: combination.not = compiler.readSchema(value)
    case .condition: combination.condition = compiler.readSchema(value)
    case .then: combination.then = compiler.readSchema(value)
    case .otherwise: combination.otherwise = compiler.readSchema(value)
    default:
      guard let text = value.stringValue, let target = DefinitionReference.name(in: text) else {
        return compiler.add("It must be a string of the form \"#/$defs/name\".")
      }
      reference = target
    }
  }

  private func readDefinitions(_ value: JSON, _ compiler: inout SchemaCompiler) {
    guard compiler.isInRoot else { return compiler.add("It is allowed only at the root of the schema.") }
    guard let object = value.objectValue else {
      return compiler.add("It must be an object, and is \(FaultText.type(of: value)).")
    }
    guard object.count <= SchemaLimit.definitions else {
      return compiler.add("It must have at most \(SchemaLimit.definitions) entries, and has \(object.count).")
    }
    let ids = object.members.map { compiler.readSchema($0.value, in: $0.name) }
    compiler.define(object.names, ids)
  }

  private func checkAnnotation(_ keyword: Keyword, _ value: JSON, _ compiler: inout SchemaCompiler) {
    switch keyword {
    case .schema:
      guard compiler.isInRoot else { return compiler.add("It is allowed only at the root of the schema.") }
      guard let text = value.stringValue, Keyword.dialects.contains(text) else {
        return compiler.add("It must be \"\(Keyword.dialects[0])\".")
      }
    case .comment, .title, .description:
      guard value.stringValue == nil else { return }
      compiler.add("It must be a string, and is \(FaultText.type(of: value)).")
    case .examples:
      guard value.arrayValue == nil else { return }
      compiler.add("It must be an array, and is \(FaultText.type(of: value)).")
    case .deprecated, .readOnly, .writeOnly: _ = compiler.flag(value)
    default: return
    }
  }
}
