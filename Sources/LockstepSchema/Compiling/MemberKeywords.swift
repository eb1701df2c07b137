import LockstepJSON

/// The keywords of one schema that are about an object's members.
struct MemberKeywords {
  private var names: [String] = []
  private var schemas: [SubschemaID] = []
  private var required: [String] = []
  private var additional = SubschemaID.anything
  private var minimumCount = 0
  private var maximumCount = Int.max
  private var dependencies: [ObjectRules.Dependency] = []

  mutating func read(_ keyword: Keyword, _ value: JSON, _ compiler: inout SchemaCompiler) {
    switch keyword {
    case .additionalProperties: additional = compiler.readSchema(value)
    case .minProperties: minimumCount = compiler.count(value) ?? 0
    case .maxProperties: maximumCount = compiler.count(value) ?? .max
    case .required: required = compiler.names(value) ?? []
    case .properties:
      guard let object = compiler.object(value) else { return }
      names = object.names
      schemas = object.members.map { compiler.readSchema($0.value, in: $0.name) }
    default:
      guard let object = compiler.object(value) else { return }
      for member in object.members {
        compiler.enter(member.name)
        if let names = compiler.names(member.value), !names.isEmpty {
          dependencies.append(ObjectRules.Dependency(name: member.name, required: names))
        }
        compiler.leave()
      }
    }
  }

  func rules() -> ObjectRules {
    let declared = NameTable(names)
    let undeclared = required.filter { declared.place(of: $0) == nil }
    let required = NameTable(required)
    let names = NameTable(names + undeclared)
    let members = names.names.indices.map { place in
      let isDeclared = place < schemas.count
      return ObjectRules.Member(
        subschema: isDeclared ? schemas[place] : additional,
        isDeclared: isDeclared,
        isRequired: required.place(of: names.names[place]) != nil
      )
    }
    return ObjectRules(
      minimumCount: minimumCount,
      maximumCount: maximumCount,
      names: names,
      members: members,
      additional: additional,
      dependencies: dependencies
    )
  }
}
