import LockstepJSON

// Schemas for the value itself.

extension ValueCheck {
  mutating func matchesCombination(_ value: JSON, _ place: Int) -> Bool {
    let rules = schema.combinations[place]
    var isValid = true
    if rules.reference > .anything { isValid = self.isValid(value, by: rules.reference) }
    if isValid || collectsFaults, !rules.all.isEmpty { isValid = matchesAll(rules.all, value) && isValid }
    if isValid || collectsFaults, !rules.any.isEmpty { isValid = matchesAny(rules.any, value) && isValid }
    if isValid || collectsFaults, !rules.one.isEmpty { isValid = matchesOne(rules.one, value) && isValid }
    if isValid || collectsFaults, rules.not != .none { isValid = matchesNot(rules.not, value) && isValid }
    if isValid || collectsFaults, rules.condition != .none { isValid = matchesCondition(rules, value) && isValid }
    return isValid
  }

  private mutating func matchesAll(_ list: SubschemaList, _ value: JSON) -> Bool {
    var isValid = true
    for place in list.places {
      if !self.isValid(value, by: schema.lists[place]) { isValid = false }
      guard isValid || collectsFaults, !isExhausted else { return false }
    }
    return isValid
  }

  private mutating func matchesNot(_ id: SubschemaID, _ value: JSON) -> Bool {
    let matches = withoutFaults { $0.isValid(value, by: id) }
    return !matches || fault(.matchesNot)
  }

  private mutating func matchesCondition(_ rules: Combination, _ value: JSON) -> Bool {
    let matches = withoutFaults { $0.isValid(value, by: rules.condition) }
    let next = matches ? rules.then : rules.otherwise
    return next <= .anything || isValid(value, by: next)
  }

  private mutating func matchesAny(_ list: SubschemaList, _ value: JSON) -> Bool {
    guard collectsFaults else {
      for place in list.places where isValid(value, by: schema.lists[place]) { return true }
      return false
    }
    return matchesAny(list, value, .matchesNone(of: list.places.count))
  }

  /// Collects the faults of the alternatives. If only one is plausible for a value that matches none,
  /// its faults help an app's developer.
  private mutating func matchesAny(_ list: SubschemaList, _ value: JSON, _ reason: FaultReason) -> Bool {
    var plausible: FaultCollector.Alternative?
    var plausibleCount = 0
    for place in list.places {
      // Its faults would not be listed.
      if isForOtherKind(schema.lists[place], value) { continue }
      let mark = faults.begin()
      let matches = isValid(value, by: schema.lists[place])
      let alternative = faults.end(mark)
      if matches { return true }
      guard !isExhausted else { return false }
      guard let alternative else { continue }
      plausible = alternative
      plausibleCount += 1
    }
    _ = fault(reason)
    if plausibleCount == 1, let plausible { faults.add(plausible) }
    return false
  }

  private mutating func matchesOne(_ list: SubschemaList, _ value: JSON) -> Bool {
    var matching: Int?
    for (number, place) in list.places.enumerated() {
      guard withoutFaults({ $0.isValid(value, by: $0.schema.lists[place]) }), !isExhausted else { continue }
      if let matching { return fault(.matchesSeveral(matching, number)) }
      matching = number
    }
    guard matching == nil else { return true }
    return collectsFaults && !isExhausted && matchesAny(list, value, .matchesNoneOfOne(of: list.places.count))
  }
}
