import LockstepJSON

/// One check of a value by a compiled schema.
///
/// A check only decides whether the value is valid, and stops at the first fault. Or it also collects
/// the faults. Then it goes on after a fault, and keeps track of the path.
struct ValueCheck {
  let schema: CompiledSchema
  var budget: StepBudget
  /// The results of the check while it only decided.
  private(set) var memory = CheckMemory()
  /// How many schemas are applied inside each other.
  private var nesting = 0
  var faults = FaultCollector()
  /// Whether the check collects faults here. Inside `not`, it does not.
  var collectsFaults: Bool

  /// A check that only decides.
  init(_ schema: CompiledSchema, steps: Int) {
    self.schema = schema
    budget = StepBudget(steps)
    collectsFaults = false
  }

  /// A check that collects the faults of a value. An earlier check has found it invalid.
  init(collectingAfter earlier: ValueCheck, steps: Int) {
    schema = earlier.schema
    budget = StepBudget(steps)
    memory = earlier.memory
    collectsFaults = true
  }

  /// Whether the check has stopped before its end. Then the value counts as invalid.
  var isExhausted: Bool { budget.isExhausted }

  mutating func isValid(_ value: JSON) -> Bool { isValid(value, by: schema.root) && !isExhausted }

  /// Whether the schema accepts the value. If the check has stopped, the result means nothing.
  ///
  /// `SchemaLimit.nesting` bounds the recursion. To use little of the stack, everything that does not
  /// recurse is in functions of its own.
  mutating func isValid(_ value: JSON, by id: SubschemaID) -> Bool {
    guard budget.spend(1), nesting < SchemaLimit.nesting else {
      budget.exhaust()
      return false
    }
    if collectsFaults, faults.isFull { return false }
    guard budget.spent > CheckMemory.firstStep else { return matches(value, id) }
    // A valid part has no faults to collect.
    if let known = memory[value, id], known || !collectsFaults { return known }
    let isValid = matches(value, id)
    if !collectsFaults, !isExhausted { memory[value, id] = isValid }
    return isValid
  }

  @inline(__always)
  private mutating func matches(_ value: JSON, _ id: SubschemaID) -> Bool {
    let subschema = schema.subschemas[Int(id)]
    var isValid = hasValidContent(value, subschema)
    guard isValid || collectsFaults else { return false }
    nesting += 1
    defer { nesting -= 1 }
    switch value {
    case .object(let object) where subschema.objects >= 0:
      isValid = hasValidMembers(object, schema.objects[Int(subschema.objects)]) && isValid
    case .array(let elements) where subschema.arrays >= 0:
      isValid = hasValidElements(elements, Int(subschema.arrays)) && isValid
    default: break
    }
    guard subschema.combination >= 0, isValid || collectsFaults else { return isValid }
    return matchesCombination(value, Int(subschema.combination)) && isValid
  }
}

// MARK: - Faults

extension ValueCheck {
  /// Returns false, and adds a fault if the check collects them.
  @inline(__always)
  mutating func fault(_ reason: @autoclosure () -> FaultReason) -> Bool {
    // After the last step, a result can be wrong.
    if collectsFaults, !isExhausted { faults.add(reason()) }
    return false
  }

  /// Runs a check that only decides.
  @inline(__always)
  mutating func withoutFaults(_ body: (inout ValueCheck) -> Bool) -> Bool {
    let collected = collectsFaults
    collectsFaults = false
    defer { collectsFaults = collected }
    return body(&self)
  }

  /// Runs the check of a member or an element.
  @inline(__always)
  mutating func inside(_ place: Int, _ name: String?, _ body: (inout ValueCheck) -> Bool) -> Bool {
    faults.enter(place, name)
    defer { faults.leave() }
    return body(&self)
  }
}

// MARK: - Rules that need no other schema

extension ValueCheck {
  @inline(never)
  private mutating func hasValidContent(_ value: JSON, _ subschema: Subschema) -> Bool {
    let types = ValueTypes(of: value)
    guard !subschema.types.isDisjoint(with: types) else {
      return fault(.wrongType(found: types, allowed: subschema.types))
    }
    if subschema.const >= 0, !isChoice(value, Int(subschema.const)) { return false }
    if subschema.choices >= 0, !isChoice(value, Int(subschema.choices)) { return false }
    switch value {
    case .string(let string) where subschema.strings >= 0: return isValidString(string, Int(subschema.strings))
    case .integer, .unsigned, .double: return subschema.numbers < 0 || isValidNumber(value, Int(subschema.numbers))
    default: return true
    }
  }

  private mutating func isChoice(_ value: JSON, _ place: Int) -> Bool {
    let choices = schema.choices[place]
    return choices.contains(value, budget: &budget) || fault(.noChoice(choices))
  }

  private mutating func isValidString(_ string: String, _ place: Int) -> Bool {
    let rules = schema.strings[place]
    let byteCount = string.utf8.count
    guard budget.spend(bytes: byteCount) else { return false }
    var isValid = true
    // A character has 1 to 4 bytes, so most lengths need no count of characters.
    if byteCount > rules.maximumLength || byteCount / 4 < rules.minimumLength {
      let count = characterCount(of: string)
      if count > rules.maximumLength || count < rules.minimumLength {
        isValid = fault(.length(count, rules))
      }
    }
    guard isValid || collectsFaults, let format = rules.format else { return isValid }
    return (format.matches(string) || fault(.format(format))) && isValid
  }

  private mutating func isValidNumber(_ value: JSON, _ place: Int) -> Bool {
    let rules = schema.numbers[place]
    // Infinity and NaN are written as null.
    guard let number = ExactNumber(value) else { return true }
    var isValid = true
    if let minimum = rules.minimum, number < minimum { isValid = fault(.belowMinimum(minimum)) }
    if let maximum = rules.maximum, maximum < number { isValid = fault(.aboveMaximum(maximum)) }
    if let bound = rules.exclusiveMinimum, number <= bound { isValid = fault(.notAbove(bound)) }
    if let bound = rules.exclusiveMaximum, bound <= number { isValid = fault(.notBelow(bound)) }
    if let divisor = rules.multipleOf, !number.isMultiple(of: divisor) {
      isValid = fault(.notMultiple(divisor))
    }
    return isValid
  }
}

/// The number of Unicode code points: of the bytes that do not continue one.
private func characterCount(of string: String) -> Int {
  withBytes(of: string) { bytes in
    var count = 0
    for byte in bytes { count += byte & 0xC0 == 0x80 ? 0 : 1 }
    return count
  }
}
