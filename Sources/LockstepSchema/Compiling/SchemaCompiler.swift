import LockstepJSON

/// Reads a schema, and collects its faults.
struct SchemaCompiler {
  var draft = SchemaDraft()
  private(set) var faults: [SchemaFault] = []
  private var faultBytes = 0
  /// The path to the schema or keyword that is read.
  private var path: [String] = []
  /// The paths of the schemas, at their places. The first two have none.
  private var paths: [[String]] = [[], []]
  private var references: [Reference] = []
  private var definitions = NameTable([])
  private var definitionIDs: [SubschemaID] = []

  private struct Reference {
    var combination: Int
    var target: String
    var path: [String]
  }

  static func compile(_ schema: JSON) throws(InvalidSchemaError) -> CompiledSchema {
    if let fault = faultOfSize(schema) { throw InvalidSchemaError(faults: [fault]) }
    var compiler = SchemaCompiler()
    let root = compiler.readSchema(schema)
    compiler.connectReferences()
    if compiler.faults.isEmpty { compiler.checkChains() }
    guard compiler.faults.isEmpty else { throw InvalidSchemaError(faults: compiler.faults) }
    return CompiledSchema(compiler.draft, root: root)
  }

  private static func faultOfSize(_ schema: JSON) -> SchemaFault? {
    let bytes = schema.encodedByteCount
    guard bytes <= SchemaLimit.bytes else {
      return SchemaFault(pointer: "", detail: "It must have at most \(SchemaLimit.bytes) bytes, and has \(bytes).")
    }
    guard schema.depth <= SchemaLimit.depth else {
      return SchemaFault(pointer: "", detail: "It must not be nested deeper than \(SchemaLimit.depth) levels.")
    }
    return nil
  }

  var pathLength: Int { path.count }

  /// The schema at the path. A schema with faults accepts everything.
  mutating func readSchema(_ schema: JSON) -> SubschemaID {
    switch schema {
    case .bool(let isAccepted): return isAccepted ? .anything : .nothing
    case .object(let object) where object.isEmpty: return .anything
    case .object(let object):
      guard draft.subschemas.count - 2 < SchemaLimit.subschemas else {
        addOnce("A schema must contain at most \(SchemaLimit.subschemas) schemas.")
        return .anything
      }
      let id = draft.reserve()
      paths.append(path)
      var reader = KeywordReader()
      for member in object.members {
        enter(member.name)
        reader.read(member.name, member.value, &self)
        leave()
      }
      let subschema = reader.finish(&self)
      draft.set(id, subschema)
      return id
    default:
      add("A schema must be an object, true or false, and is \(FaultText.type(of: schema)).")
      return .anything
    }
  }

  mutating func enter(_ token: String) { path.append(token) }

  mutating func leave() { path.removeLast() }

  /// Adds a fault of the keyword or schema at the path.
  mutating func add(_ detail: String) { add(path, detail) }

  private mutating func addOnce(_ detail: String) {
    if !faults.contains(where: { $0.detail.hasSameBytes(as: detail) }) { add(detail) }
  }

  private mutating func add(_ path: [String], _ detail: String) {
    guard faults.count < SchemaLimit.faults, faultBytes < SchemaLimit.faultBytes else { return }
    let pointer = JSONPointer(tokens: path).description
    faultBytes += pointer.utf8.count + detail.utf8.count
    faults.append(SchemaFault(pointer: pointer, detail: detail))
  }
}

// MARK: - References

extension SchemaCompiler {
  mutating func define(_ names: [String], _ ids: [SubschemaID]) {
    definitions = NameTable(names)
    definitionIDs = ids
  }

  /// Remembers the `$ref` of the combination that is added next. Its target may come later.
  mutating func refer(to target: String) {
    references.append(Reference(combination: draft.combinations.count, target: target, path: path + ["$ref"]))
  }

  private mutating func connectReferences() {
    for reference in references {
      if let place = definitions.place(of: reference.target) {
        draft.combinations[reference.combination].reference = definitionIDs[place]
      } else {
        add(reference.path, "The schema has no such entry in $defs.")
      }
    }
  }

  /// Finds schemas that apply themselves to the same value, and long chains.
  private mutating func checkChains() {
    var chains = SchemaChains(draft)
    for id in draft.subschemas.indices {
      guard let fault = chains.follow(SubschemaID(id)) else { continue }
      let path = paths[Int(fault.id)]
      switch fault.kind {
      case .cycle: return add(path + ["$ref"], "This $ref leads back to itself for the same value.")
      case .tooLong:
        return add(path, "It applies more than \(SchemaLimit.chain) schemas, one inside the other, to the same value.")
      }
    }
  }
}

/// Follows the schemas that apply to the same value.
private struct SchemaChains {
  enum Kind { case cycle, tooLong }

  private enum Chain {
    case unknown, open
    /// The count of schemas on the longest way from a schema, itself included.
    case known(Int)
  }

  private let draft: SchemaDraft
  private var chains: [Chain]

  init(_ draft: SchemaDraft) {
    self.draft = draft
    chains = Array(repeating: .unknown, count: draft.subschemas.count)
  }

  /// The fault of a chain that begins here. In a cycle, this is the schema whose `$ref` closes it:
  /// schemas are followed in the order of the document, so all other ways lead from a schema to
  /// its own parts.
  mutating func follow(_ id: SubschemaID) -> (id: SubschemaID, kind: Kind)? {
    follow(id, depth: 1)
  }

  /// The limit of chains bounds the recursion.
  private mutating func follow(_ id: SubschemaID, depth: Int) -> (id: SubschemaID, kind: Kind)? {
    guard depth <= SchemaLimit.chain else { return (id, .tooLong) }
    if case .known = chains[Int(id)] { return nil }
    chains[Int(id)] = .open
    var longest = 0
    for next in draft.applied(by: id) {
      if case .open = chains[Int(next)] { return (id, .cycle) }
      if case .unknown = chains[Int(next)], let fault = follow(next, depth: depth + 1) { return fault }
      if case .known(let length) = chains[Int(next)] { longest = max(longest, length) }
    }
    guard longest < SchemaLimit.chain else { return (id, .tooLong) }
    chains[Int(id)] = .known(longest + 1)
    return nil
  }
}
