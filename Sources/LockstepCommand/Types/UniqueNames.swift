/// Names that are used once each. A name that is taken already gets a number.
struct UniqueNames {
  private var taken: Set<String>
  /// For each name that was taken again, the number to try next.
  private var next: [String: Int] = [:]

  init(reserved: Set<String> = []) { taken = reserved }

  mutating func take(_ name: String) -> String {
    var candidate = name
    var number = next[name, default: 2]
    while !taken.insert(candidate).inserted {
      candidate = "\(name)\(number)"
      number += 1
      next[name] = number
    }
    return candidate
  }

  /// An identifier for each text. A text that is an identifier already stays the same, wherever it is in the list.
  mutating func identifiers(for texts: [String], fallback: String) -> [String] {
    var result = texts.map { Identifier.name($0, fallback: fallback) }
    let isExact = zip(texts, result).map { $0 == $1 }
    for place in result.indices where isExact[place] { result[place] = take(result[place]) }
    for place in result.indices where !isExact[place] { result[place] = take(result[place]) }
    return result
  }
}

/// Identifiers made from any text.
enum Identifier {
  /// Longer names are cut off.
  private static let longest = 80

  /// The text itself if it is an identifier. Otherwise its parts that may be in one, joined in camel case.
  static func name(_ text: String, fallback: String) -> String {
    var result = ""
    var isNewWord = false
    for scalar in text.unicodeScalars.prefix(longest) {
      guard isAllowed(scalar) else {
        isNewWord = !result.isEmpty
        continue
      }
      result += isNewWord ? scalar.properties.uppercaseMapping : String(scalar)
      isNewWord = false
    }
    guard result.contains(where: { $0 != "_" }) else { return fallback }
    return result.unicodeScalars.first.map { isDigit($0) } == true ? "_\(result)" : result
  }

  /// The same, with a capital letter at the beginning.
  static func typeName(_ text: String, fallback: String) -> String {
    let name = name(text, fallback: fallback)
    return name.prefix(1).uppercased() + name.dropFirst()
  }

  private static func isDigit(_ scalar: Unicode.Scalar) -> Bool { ("0"..."9").contains(scalar) }

  /// Letters of all scripts, ASCII digits and `_`. Both languages allow them.
  private static func isAllowed(_ scalar: Unicode.Scalar) -> Bool {
    if scalar.isASCII { return isDigit(scalar) || scalar == "_" || scalar.properties.isAlphabetic }
    return scalar.properties.isXIDStart && scalar.value <= 0xFFFF
  }
}
