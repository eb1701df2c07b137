/// The place of a schema in `CompiledSchema.subschemas`.
typealias SubschemaID = Int32

extension SubschemaID {
  /// No such keyword.
  static let none: SubschemaID = -1
  /// `true`, and every schema that accepts all values.
  static let anything: SubschemaID = 0
  /// `false`.
  static let nothing: SubschemaID = 1
}

/// A schema in the form that checks read. Schemas refer to each other by their places, so that
/// recursive ones need no cycles of references.
final class CompiledSchema: Sendable {
  let root: SubschemaID
  let subschemas: [Subschema]
  let strings: [StringRules]
  let numbers: [NumberRules]
  let arrays: [ArrayRules]
  let objects: [ObjectRules]
  let choices: [ChoiceTable]
  let combinations: [Combination]
  /// The schemas of all `prefixItems`, `allOf`, `anyOf` and `oneOf`, one after the other.
  let lists: [SubschemaID]

  init(_ draft: SchemaDraft, root: SubschemaID) {
    self.root = draft.resolved(root)
    subschemas = draft.subschemas
    strings = draft.strings
    numbers = draft.numbers
    arrays = draft.arrays.map { $0.resolved(by: draft) }
    objects = draft.objects.map { $0.resolved(by: draft) }
    choices = draft.choices
    combinations = draft.combinations.map { $0.resolved(by: draft) }
    lists = draft.lists.map(draft.resolved)
  }
}

/// A schema without its rules, which are in the arrays of `CompiledSchema`, each at its place, or -1.
struct Subschema: Sendable {
  var types: ValueTypes = .all
  /// There can be `const` and `enum`.
  var const: Int32 = -1
  var choices: Int32 = -1
  var strings: Int32 = -1
  var numbers: Int32 = -1
  var arrays: Int32 = -1
  var objects: Int32 = -1
  var combination: Int32 = -1

  /// Whether only the combination can refuse a value.
  var hasOnlyCombination: Bool {
    types == .all && const < 0 && choices < 0 && strings < 0 && numbers < 0 && arrays < 0 && objects < 0
  }
}

/// A part of `CompiledSchema.lists`.
struct SubschemaList: Sendable {
  var start: Int32 = 0
  var count: Int32 = 0

  var isEmpty: Bool { count == 0 }
  var places: Range<Int> { Int(start)..<Int(start + count) }
}

struct StringRules: Sendable {
  var minimumLength = 0
  var maximumLength = Int.max
  var format: StringFormat?
}

struct NumberRules: Sendable {
  var minimum: ExactNumber?
  var maximum: ExactNumber?
  var exclusiveMinimum: ExactNumber?
  var exclusiveMaximum: ExactNumber?
  var multipleOf: ExactNumber?
}

struct ArrayRules: Sendable {
  var minimumCount = 0
  var maximumCount = Int.max
  var isUnique = false
  var prefix = SubschemaList()
  /// For the elements after the prefix.
  var items = SubschemaID.anything
  var contains = SubschemaID.none

  func resolved(by draft: SchemaDraft) -> ArrayRules {
    var rules = self
    rules.items = draft.resolved(items)
    rules.contains = draft.resolved(contains)
    return rules
  }
}

final class ObjectRules: Sendable {
  /// A member with a schema of its own, or a required one.
  struct Member: Sendable {
    var subschema: SubschemaID
    /// Whether `properties` has the member. Else `additionalProperties` applies.
    var isDeclared: Bool
    var isRequired: Bool
  }

  /// A required member with `const` or `enum`, which tells the kind of an object.
  struct Discriminator: Sendable {
    let name: String
    let choices: Int32
    /// How many steps it takes to look for the name among the first members of an object.
    let steps: Int
  }

  struct Dependency: Sendable {
    let name: String
    let required: [String]
    /// How many steps it takes to look for all names among the first members of an object.
    let steps: Int

    init(name: String, required: [String]) {
      self.name = name
      self.required = required
      steps = ([name] + required).reduce(0) { $0 + 1 + StepBudget.steps(forBytes: $1.utf8.count) }
    }
  }

  let minimumCount: Int
  let maximumCount: Int
  let names: NameTable
  /// At the places of their names.
  let members: [Member]
  let requiredCount: Int
  let additional: SubschemaID
  let dependencies: [Dependency]
  /// The first one with `const`, else the first one with `enum`.
  let discriminator: Discriminator?
  /// Whether a check looks at each member.
  let readsMembers: Bool

  init(
    minimumCount: Int,
    maximumCount: Int,
    names: NameTable,
    members: [Member],
    additional: SubschemaID,
    dependencies: [Dependency],
    discriminator: Discriminator? = nil
  ) {
    self.minimumCount = minimumCount
    self.maximumCount = maximumCount
    self.names = names
    self.members = members
    requiredCount = members.count(where: \.isRequired)
    self.additional = additional
    self.dependencies = dependencies
    self.discriminator = discriminator
    readsMembers =
      additional != .anything || members.contains { $0.isRequired || $0.subschema != .anything }
  }

  /// Whether `properties` has a schema for the member.
  func declares(_ name: String) -> Bool { names.place(of: name).map { members[$0].isDeclared } ?? false }

  func resolved(by draft: SchemaDraft) -> ObjectRules {
    let members = members.map {
      Member(subschema: draft.resolved($0.subschema), isDeclared: $0.isDeclared, isRequired: $0.isRequired)
    }
    func discriminator(_ choices: KeyPath<Subschema, Int32>) -> Discriminator? {
      for (name, member) in zip(names.names, members) where member.isRequired && member.subschema > .nothing {
        let found = draft.subschemas[Int(member.subschema)][keyPath: choices]
        let steps = 1 + StepBudget.steps(forBytes: name.utf8.count)
        if found >= 0 { return Discriminator(name: name, choices: found, steps: steps) }
      }
      return nil
    }
    return ObjectRules(
      minimumCount: minimumCount,
      maximumCount: maximumCount,
      names: names,
      members: members,
      additional: draft.resolved(additional),
      dependencies: dependencies,
      discriminator: discriminator(\.const) ?? discriminator(\.choices)
    )
  }
}

/// Schemas for the value itself.
struct Combination: Sendable {
  var reference = SubschemaID.none
  var not = SubschemaID.none
  var condition = SubschemaID.none
  var then = SubschemaID.none
  var otherwise = SubschemaID.none
  var all = SubschemaList()
  var any = SubschemaList()
  var one = SubschemaList()

  /// Whether there is no other keyword than `$ref`.
  var isReference: Bool {
    reference != .none && not == .none && condition == .none && all.isEmpty && any.isEmpty && one.isEmpty
  }

  func resolved(by draft: SchemaDraft) -> Combination {
    var combination = self
    combination.reference = draft.resolved(reference)
    combination.not = draft.resolved(not)
    combination.condition = draft.resolved(condition)
    combination.then = draft.resolved(then)
    combination.otherwise = draft.resolved(otherwise)
    return combination
  }
}
