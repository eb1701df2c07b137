import LockstepJSON

/// JSON objects of tokens. Repeated names are refused at any depth, because two programs could read
/// different values of such a token.
enum UniqueJSON {
  /// Nil if the text is not valid JSON, is no object, is nested deeper than 16 levels or repeats a
  /// name.
  static func object(parsing text: [UInt8]) -> JSONObject? {
    guard let json = try? JSON(parsing: text, maximumDepth: 16), let object = json.objectValue,
      memberCount(in: text) == memberCount(of: json)
    else { return nil }
    return object
  }

  /// How many members a valid text has. Outside of strings, each colon stands for one.
  private static func memberCount(in text: [UInt8]) -> Int {
    var (count, isInString, place) = (0, false, 0)
    while place < text.count {
      switch text[place] {
      case UInt8(ascii: "\""): isInString.toggle()
      // Backslashes occur only in strings.
      case UInt8(ascii: "\\"): place += 1
      case UInt8(ascii: ":") where !isInString: count += 1
      default: break
      }
      place += 1
    }
    return count
  }

  /// How many members a value has. The parser has kept one of each name.
  private static func memberCount(of json: JSON) -> Int {
    switch json {
    case .object(let object): object.reduce(object.count) { $0 + memberCount(of: $1.value) }
    case .array(let elements): elements.reduce(0) { $0 + memberCount(of: $1) }
    default: 0
    }
  }
}
