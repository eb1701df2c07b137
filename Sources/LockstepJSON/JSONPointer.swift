/// A JSON Pointer (RFC 6901): the path to a value inside another, such as `/items/0/title`.
///
/// Pointers are equal if their tokens have the same UTF-8 bytes.
public struct JSONPointer: Sendable, Hashable, CustomStringConvertible {
  /// The names and indices of the path, unescaped; none for the whole document.
  public let tokens: [String]

  /// The pointer to the whole document.
  public static let root = JSONPointer(tokens: [])

  /// A pointer with unescaped tokens.
  public init(tokens: [String]) { self.tokens = tokens }

  /// Parses empty text, or tokens with a slash before each, with `~1` for `/` and `~0` for `~`.
  public init(parsing text: String) throws(JSONPointerError) {
    guard !text.isEmpty else {
      self = .root
      return
    }
    guard text.utf8.first == Ascii.slash else { throw JSONPointerError(kind: .missingSlash, pointer: text) }
    var tokens: [String] = []
    for token in text.utf8.dropFirst().split(separator: Ascii.slash, omittingEmptySubsequences: false) {
      guard let unescaped = Self.unescape(token) else { throw JSONPointerError(kind: .invalidEscape, pointer: text) }
      tokens.append(unescaped)
    }
    self.tokens = tokens
  }

  /// The value at the pointer. The error names the token without a value.
  public func resolve(in document: JSON) throws(JSONPointerError) -> JSON {
    var value = document
    for position in tokens.indices {
      switch value {
      case .object(let object):
        guard let child = object[tokens[position]] else { throw error(.noSuchMember, at: position) }
        value = child
      case .array(let elements): value = elements[try elementIndex(at: position, count: elements.count)]
      default: throw error(.notAContainer, at: position)
      }
    }
    return value
  }

  /// The pointer to a member of this pointer's value.
  public func appending(_ token: String) -> JSONPointer { JSONPointer(tokens: tokens + [token]) }

  /// The pointer to an element of this pointer's value.
  public func appending(_ index: Int) -> JSONPointer { appending(String(index)) }

  /// Whether `other` points to a place inside this pointer's value.
  public func isProperPrefix(of other: JSONPointer) -> Bool {
    tokens.count < other.tokens.count && JSONPointer(tokens: Array(other.tokens.prefix(tokens.count))) == self
  }

  func elementIndex(at position: Int, count: Int) throws(JSONPointerError) -> Int {
    guard let index = Self.index(of: tokens[position]) else { throw error(.invalidIndex, at: position) }
    guard index < count else { throw error(.noSuchElement(count: count), at: position) }
    return index
  }

  /// A token as a number: digits without a leading zero. Nil for `-`.
  static func index(of token: String) -> Int? {
    let digits = token.utf8
    guard let first = digits.first, digits.allSatisfy(Ascii.isDigit) else { return nil }
    guard first != Ascii.zero || digits.count == 1 else { return nil }
    // A number that does not fit into `Int` is an index beyond the end of every array.
    return Int(token) ?? Int.max
  }

  func error(_ kind: JSONPointerError.Kind, at position: Int) -> JSONPointerError {
    JSONPointerError(kind: kind, pointer: JSONPointer(tokens: Array(tokens[...position])).description)
  }

  private static func unescape(_ token: Substring.UTF8View.SubSequence) -> String? {
    guard token.contains(Ascii.letter("~")) else { return String(Substring(token)) }
    var bytes: [UInt8] = []
    var isEscape = false
    for byte in token {
      switch (isEscape, byte) {
      case (false, Ascii.letter("~")):
        isEscape = true
        continue
      case (false, _): bytes.append(byte)
      case (true, Ascii.zero): bytes.append(Ascii.letter("~"))
      case (true, Ascii.letter("1")): bytes.append(Ascii.slash)
      default: return nil
      }
      isEscape = false
    }
    return isEscape ? nil : String(decoding: bytes, as: UTF8.self)
  }

  /// The pointer as RFC 6901 spells it. Parsing this text gives the same pointer.
  public var description: String {
    var bytes: [UInt8] = []
    for token in tokens {
      bytes.append(Ascii.slash)
      for byte in token.utf8 {
        switch byte {
        case Ascii.letter("~"): bytes.append(word: "~0")
        case Ascii.slash: bytes.append(word: "~1")
        default: bytes.append(byte)
        }
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Compares the tokens byte by byte.
  public static func == (left: JSONPointer, right: JSONPointer) -> Bool {
    left.tokens.elementsEqual(right.tokens) { $0.hasSameBytes(as: $1) }
  }

  /// Hashes the tokens.
  public func hash(into hasher: inout Hasher) {
    for token in tokens { token.hashBytes(into: &hasher) }
  }
}

extension JSON {
  /// The value at a pointer, or nil if there is none.
  public subscript(pointer: JSONPointer) -> JSON? { try? pointer.resolve(in: self) }
}
