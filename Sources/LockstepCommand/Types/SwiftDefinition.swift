/// A struct, or a choice of strings, in generated Swift.
struct SwiftDefinition {
  enum Content {
    case structure([SchemaTypeMember], isElement: Bool, isClosed: Bool)
    /// A closed choice is an enum. Any other choice is a struct, which can also have the values of a newer server.
    case choice([String], isClosed: Bool)
  }

  let name: String
  let content: Content

  func write(to code: inout CodeText, conformances: String = "String, Codable, CaseIterable, Sendable") {
    switch content {
    case .structure(let members, let isElement, let isClosed): write(members, isElement, isClosed, &code)
    case .choice(let texts, true):
      code.block("enum \(name): \(conformances)") { code in
        for (identifier, text) in identifiers(of: texts) {
          code.line("case \(SwiftNames.code(identifier))\(identifier == text ? "" : " = \(CodeText.literal(text))")")
        }
      }
    case .choice(let texts, false):
      code.block("struct \(name): RawRepresentable, Codable, Hashable, Sendable") { code in
        for (identifier, text) in identifiers(of: texts) {
          code.line("static let \(SwiftNames.code(identifier)) = \(name)(rawValue: \(CodeText.literal(text)))")
        }
        code.line()
        code.comment("A newer server may have other values.")
        code.line("var rawValue: String")
      }
    }
  }

  /// Each text once, with its identifier.
  private func identifiers(of texts: [String]) -> [(String, String)] {
    var names = UniqueNames(reserved: SwiftNames.members)
    var known: Set<String> = []
    let texts = texts.filter { known.insert($0).inserted }
    return Array(zip(names.identifiers(for: texts, fallback: "value"), texts))
  }

  // MARK: - Structs

  private func write(_ members: [SchemaTypeMember], _ isElement: Bool, _ isClosed: Bool, _ code: inout CodeText) {
    var scope = SwiftScope(reserved: SwiftNames.types.union(SwiftNames.members))
    let identifiers = scope.names.identifiers(for: members.map(\.name), fallback: "member")
    let own = zip(identifiers, members).map { identifier, member in
      let name = Identifier.typeName(member.name, fallback: "Value")
      let type = scope.reference(to: member.type, name, isClosed: isClosed)
      let isOptional = !member.isRequired || (isElement && member.isReadOnly)
      return SwiftMember(identifier: identifier, isOptional && !member.type.isNullable ? "\(type)?" : type, member)
    }
    let ids = [SchemaType(kind: .text), SchemaType(kind: .whole)]
    let hasID = members.contains { $0.name == "id" && $0.isRequired && ids.contains($0.type) }
    let conformances = hasID ? "Codable, Identifiable, Equatable, Sendable" : "Codable, Equatable, Sendable"
    code.block("struct \(name): \(conformances)") { code in
      for member in own {
        code.comment(CodeText.comment(of: member.schema))
        code.line("var \(member.code): \(member.type)")
      }
      if own.contains(where: { $0.identifier != $0.schema.name }) { Self.writeKeys(own, &code) }
      let omitted = isElement ? Set(members.filter(\.isReadOnly).map(\.name)) : []
      if !omitted.isEmpty || members.contains(where: { $0.isRequired && $0.type.isNullable }) {
        Self.writeEncoding(of: own.filter { !omitted.contains($0.schema.name) }, &code)
      }
      scope.writeDefinitions(to: &code)
    }
  }

  private static func writeKeys(_ members: [SwiftMember], _ code: inout CodeText) {
    code.line()
    code.block("enum CodingKeys: String, CodingKey") { code in
      for member in members {
        let isSame = member.identifier == member.schema.name
        code.line("case \(member.code)\(isSame ? "" : " = \(CodeText.literal(member.schema.name))")")
      }
    }
  }

  /// Encodes these members only. A required member that may be null is encoded as null.
  private static func writeEncoding(of members: [SwiftMember], _ code: inout CodeText) {
    code.line()
    code.comment("Leaves out what only the server sets.")
    code.block("func encode(to _encoder: any Encoder) throws") { code in
      let container = "_encoder.container(keyedBy: CodingKeys.self)"
      code.line(members.isEmpty ? "_ = \(container)" : "var _container = \(container)")
      for member in members {
        let function = member.schema.isRequired ? "encode" : "encodeIfPresent"
        code.line("try _container.\(function)(\(member.code), forKey: .\(member.code))")
      }
    }
  }
}
