/// A schema during compilation.
struct SchemaDraft {
  /// `true` and `false` come first.
  private(set) var subschemas = [Subschema(), Subschema(types: [])]
  var strings: [StringRules] = []
  var numbers: [NumberRules] = []
  var arrays: [ArrayRules] = []
  var objects: [ObjectRules] = []
  var choices: [ChoiceTable] = []
  var combinations: [Combination] = []
  private(set) var lists: [SubschemaID] = []

  /// Reserves a place for a schema whose parts are compiled first.
  mutating func reserve() -> SubschemaID {
    subschemas.append(Subschema())
    return SubschemaID(subschemas.count - 1)
  }

  mutating func set(_ id: SubschemaID, _ subschema: Subschema) { subschemas[Int(id)] = subschema }

  mutating func addList(_ ids: [SubschemaID]) -> SubschemaList {
    defer { lists += ids }
    return SubschemaList(start: Int32(lists.count), count: Int32(ids.count))
  }

  /// The schemas that apply to the same value as this one.
  func applied(by id: SubschemaID) -> [SubschemaID] {
    guard let combination = combination(of: id) else { return [] }
    let single = [
      combination.reference, combination.not, combination.condition, combination.then, combination.otherwise,
    ]
    let listed = [combination.all, combination.any, combination.one].flatMap { lists[$0.places] }
    return single.filter { $0 != .none } + listed
  }

  /// The schema that a check applies instead of this one: the target of a `$ref` without other
  /// keywords, and `true` for a schema that accepts everything.
  ///
  /// - Precondition: There are no cycles.
  func resolved(_ id: SubschemaID) -> SubschemaID {
    var id = id
    while id >= 0, subschemas[Int(id)].hasOnlyCombination {
      guard let combination = combination(of: id) else { return .anything }
      guard combination.isReference else { return id }
      id = combination.reference
    }
    return id
  }

  private func combination(of id: SubschemaID) -> Combination? {
    let place = Int(subschemas[Int(id)].combination)
    return place < 0 ? nil : combinations[place]
  }
}
