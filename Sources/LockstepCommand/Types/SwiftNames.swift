/// The rules for names in generated Swift.
enum SwiftNames {
  /// Words that are names only in backticks.
  private static let keywords: Set<String> = [
    "Any", "as", "associatedtype", "await", "break", "case", "catch", "class", "continue", "default", "defer", "deinit",
    "do", "else", "enum", "extension", "fallthrough", "false", "fileprivate", "for", "func", "guard", "if", "import",
    "in", "inout", "internal", "is", "let", "nil", "operator", "precedencegroup", "private", "protocol", "public",
    "repeat", "rethrows", "return", "static", "struct", "subscript", "super", "switch", "throw", "throws", "true",
    "try",
    "typealias", "var", "where", "while",
  ]

  /// Names of members that would hide members that generated code uses, or that Swift reserves.
  static let members: Set<String> = [
    "self", "Self", "Type", "Protocol", "init", "encode", "hash", "hashValue", "rawValue", "module", "screen",
    "allCases",
  ]

  /// Names of nested types that would hide a type that generated code uses.
  static let types: Set<String> = [
    "Any", "Bool", "CaseIterable", "Codable", "CodingKey", "CodingKeys", "Double", "Encodable", "Encoder", "Equatable",
    "Foundation", "Hashable", "ID", "Identifiable", "Int", "JSONValue", "MemberChange", "MemberName", "Never",
    "Optional", "Protocol", "RawRepresentable", "RawValue", "ScreenAction", "Self", "ServerTime", "Sendable", "String",
    "Swift", "Type",
  ]

  /// The name as code.
  static func code(_ name: String) -> String { keywords.contains(name) ? "`\(name)`" : name }
}
