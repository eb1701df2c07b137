import LockstepJSON

/// Parts of the sentences for faults.
enum FaultText {
  /// How many bytes of a name are quoted.
  private static let quotedBytes = 64

  /// A type with its article, such as `an object`.
  static func type(of value: JSON) -> String { withArticle(value.typeName) }

  static func withArticle(_ type: String) -> String {
    switch type {
    case "null": "null"
    case "object", "array", "integer": "an \(type)"
    default: "a \(type)"
    }
  }

  /// `a, b or c`.
  static func list(_ items: [String]) -> String {
    guard let last = items.last, items.count > 1 else { return items.first ?? "" }
    return "\(items.dropLast().joined(separator: ", ")) or \(last)"
  }

  /// A name as JSON, cut if it is long.
  static func quoted(_ name: String) -> String {
    guard name.utf8.count > quotedBytes else { return JSON.string(name).description }
    var (cut, byteCount) = ("", 0)
    for scalar in name.unicodeScalars {
      byteCount += UTF8.width(scalar)
      guard byteCount <= quotedBytes else { break }
      cut.unicodeScalars.append(scalar)
    }
    return JSON.string(cut + "…").description
  }

  static func counted(_ count: Int, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }
}
