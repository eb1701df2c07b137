import LockstepJSON

// Members of objects, and elements of arrays.

extension ValueCheck {
  mutating func hasValidMembers(_ object: JSONObject, _ rules: ObjectRules) -> Bool {
    var isValid = true
    if object.count < rules.minimumCount || object.count > rules.maximumCount {
      isValid = fault(.memberCount(object.count, rules))
    }
    guard isValid || collectsFaults else { return false }
    if !collectsFaults, let discriminator = rules.discriminator {
      // The check of all members would find the same fault, but perhaps after a long member.
      guard hasChoice(object, discriminator) == true else { return false }
    }
    if rules.readsMembers {
      var missing = rules.requiredCount
      let members = object.members
      for place in members.indices {
        guard isValid || collectsFaults, !isExhausted else { return false }
        let subschema = subschema(ofMember: members[place].name, rules, &missing)
        guard subschema != .anything else { continue }
        if !isValidMember(members[place], at: place, by: subschema, rules) { isValid = false }
      }
      // The names of members are unique, so the count suffices.
      if missing > 0 { isValid = noteMissing(object, rules) }
    }
    return hasDependencies(object, rules) && isValid
  }

  @inline(__always)
  private mutating func subschema(ofMember name: String, _ rules: ObjectRules, _ missing: inout Int) -> SubschemaID {
    guard budget.spend(1), budget.spend(bytes: name.utf8.count) else { return .anything }
    guard let place = rules.names.place(of: name) else { return rules.additional }
    if rules.members[place].isRequired { missing -= 1 }
    return rules.members[place].subschema
  }

  @inline(__always)
  private mutating func isValidMember(
    _ member: JSONObject.Member,
    at place: Int,
    by subschema: SubschemaID,
    _ rules: ObjectRules
  ) -> Bool {
    guard collectsFaults else { return isValid(member.value, by: subschema) }
    return collectFaults(of: member, at: place, by: subschema, rules)
  }

  @inline(never)
  private mutating func collectFaults(
    of member: JSONObject.Member,
    at place: Int,
    by subschema: SubschemaID,
    _ rules: ObjectRules
  ) -> Bool {
    inside(place, member.name) { check in
      if subschema == .nothing, !rules.declares(member.name) { return check.fault(.extraMember) }
      return check.isValid(member.value, by: subschema)
    }
  }

  @inline(never)
  private mutating func noteMissing(_ object: JSONObject, _ rules: ObjectRules) -> Bool {
    guard collectsFaults else { return false }
    for (place, member) in rules.members.enumerated() where member.isRequired {
      let name = rules.names.names[place]
      let steps = 1 + StepBudget.steps(forBytes: name.utf8.count)
      guard budget.spend(steps * lookupFactor(object)) else { return false }
      if !object.contains(name: name) { noteMissing(name, .missing) }
    }
    return false
  }

  /// Whether the member has one of the values. Nil if the member is missing.
  private mutating func hasChoice(_ object: JSONObject, _ discriminator: ObjectRules.Discriminator) -> Bool? {
    guard budget.spend(discriminator.steps * lookupFactor(object)), let value = object[discriminator.name] else {
      return nil
    }
    return schema.choices[Int(discriminator.choices)].contains(value, budget: &budget)
  }

  /// Whether a schema of `anyOf` or `oneOf` is for objects of another kind: a required member with
  /// `const` or `enum` has another value.
  mutating func isForOtherKind(_ id: SubschemaID, _ value: JSON) -> Bool {
    guard case .object(let object) = value else { return false }
    var id = id
    // Chains of schemas for the same value have no cycles.
    while id > .anything {
      let subschema = schema.subschemas[Int(id)]
      if subschema.objects >= 0, let discriminator = schema.objects[Int(subschema.objects)].discriminator,
        hasChoice(object, discriminator) == false
      {
        return !isExhausted
      }
      guard subschema.combination >= 0 else { return false }
      id = schema.combinations[Int(subschema.combination)].reference
    }
    return false
  }

  /// How many names a search by name compares. Objects with more members have an index.
  private func lookupFactor(_ object: JSONObject) -> Int { 1 + min(object.count, 16) / 4 }

  @inline(never)
  private mutating func hasDependencies(_ object: JSONObject, _ rules: ObjectRules) -> Bool {
    var isValid = true
    for dependency in rules.dependencies {
      guard budget.spend(dependency.steps * lookupFactor(object)) else { return false }
      guard object.contains(name: dependency.name) else { continue }
      for name in dependency.required where !object.contains(name: name) {
        guard collectsFaults else { return false }
        noteMissing(name, .missingBeside(dependency.name))
        isValid = false
      }
    }
    return isValid
  }

  /// Missing members come after all others.
  private mutating func noteMissing(_ name: String, _ reason: FaultReason) {
    _ = inside(.max, name) { $0.fault(reason) }
  }

  mutating func hasValidElements(_ elements: [JSON], _ place: Int) -> Bool {
    let rules = schema.arrays[place]
    var isValid = true
    if elements.count < rules.minimumCount || elements.count > rules.maximumCount {
      isValid = fault(.elementCount(elements.count, rules))
    }
    guard isValid || collectsFaults else { return false }
    if rules.isUnique, !areUnique(elements) { isValid = false }
    if rules.contains != .none, isValid || collectsFaults, !containsMatch(elements, rules.contains) { isValid = false }
    let prefix = rules.prefix.places
    let checked = rules.items == .anything ? min(prefix.count, elements.count) : elements.count
    for place in 0..<checked {
      guard isValid || collectsFaults, !isExhausted else { return false }
      let subschema = place < prefix.count ? schema.lists[prefix.lowerBound + place] : rules.items
      guard subschema != .anything else { continue }
      if !isValidElement(elements[place], at: place, by: subschema) { isValid = false }
    }
    return isValid
  }

  @inline(__always)
  private mutating func isValidElement(_ element: JSON, at place: Int, by subschema: SubschemaID) -> Bool {
    guard collectsFaults else { return isValid(element, by: subschema) }
    return collectFaults(of: element, at: place, by: subschema)
  }

  @inline(never)
  private mutating func collectFaults(of element: JSON, at place: Int, by subschema: SubschemaID) -> Bool {
    inside(place, nil) { $0.isValid(element, by: subschema) }
  }

  private mutating func containsMatch(_ elements: [JSON], _ subschema: SubschemaID) -> Bool {
    let found = withoutFaults { check in elements.contains { check.isValid($0, by: subschema) } }
    return found || fault(.containsNone)
  }

  @inline(never)
  private mutating func areUnique(_ elements: [JSON]) -> Bool {
    let repetition = ElementSet.firstRepetition(in: elements, budget: &budget)
    return repetition.map { fault(.repeatedElements($0.0, $0.1)) } ?? !isExhausted
  }
}
