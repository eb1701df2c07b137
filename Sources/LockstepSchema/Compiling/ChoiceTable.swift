import LockstepJSON

/// The values of `enum`, or the one of `const`.
final class ChoiceTable: Sendable {
  /// Up to this count, values are compared one by one.
  private static let fewChoices = 8

  let values: [JSON]
  let isConst: Bool
  private let strings: NameTable
  /// The values that are not strings.
  private let others: [JSON]
  /// The places of the other values by their hashes, if there are many.
  private let placesByHash: [Int: [Int]]
  /// How many steps it takes to compare each of the other values.
  private let steps: [Int]

  init(_ values: [JSON], isConst: Bool) {
    self.values = values
    self.isConst = isConst
    strings = NameTable(values.compactMap(\.stringValue))
    others = values.filter { $0.stringValue == nil }
    steps = others.map(comparisonSteps)
    var places: [Int: [Int]] = [:]
    if others.count > Self.fewChoices {
      for (place, value) in others.enumerated() {
        // The size of a schema bounds the steps.
        var hash = FullHash(budget: StepBudget(.max))
        places[hash.hash(of: value) ?? 0, default: []].append(place)
      }
    }
    placesByHash = places
  }

  func contains(_ value: JSON, budget: inout StepBudget) -> Bool {
    if case .string(let string) = value {
      return budget.spend(bytes: string.utf8.count) && strings.place(of: string) != nil
    }
    guard others.count > Self.fewChoices else {
      for place in others.indices where isEqual(value, at: place, &budget) { return true }
      return false
    }
    var hash = FullHash(budget: budget)
    let places = hash.hash(of: value).flatMap { placesByHash[$0] }
    budget = hash.budget
    return places?.contains { isEqual(value, at: $0, &budget) } ?? false
  }

  private func isEqual(_ value: JSON, at place: Int, _ budget: inout StepBudget) -> Bool {
    switch (value, others[place]) {
    case (.array(let left), .array(let right)) where left.count != right.count: return false
    case (.object(let left), .object(let right)) where left.count != right.count: return false
    default: return budget.spend(steps[place]) && value == others[place]
    }
  }
}

/// One step for each value inside, and the steps for the bytes. A schema's depth bounds the recursion.
private func comparisonSteps(_ value: JSON) -> Int {
  switch value {
  case .array(let elements): elements.reduce(1) { $0 + comparisonSteps($1) }
  case .object(let object):
    object.members.reduce(1) { $0 + comparisonSteps($1.value) + StepBudget.steps(forBytes: $1.name.utf8.count) }
  case .string(let string): 1 + StepBudget.steps(forBytes: string.utf8.count)
  default: 1
  }
}
