import HTTP

/// The parameters of a request's query, decoded: `+` and `%20` are spaces, as forms and browsers write them.
struct QueryParameters {
  private var values: [(name: String, value: String)] = []

  /// Reads a query. Throws `invalid-parameter` where it can't be decoded.
  init(_ query: String) throws(Problem) {
    for pair in query.split(separator: "&") {
      let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      values.append((try Self.decoded(parts[0]), parts.count > 1 ? try Self.decoded(parts[1]) : ""))
    }
  }

  /// The value of a parameter; nil where it isn't there. Throws where it's there twice: which one counts?
  func text(_ name: String) throws(Problem) -> String? {
    let found = values.filter { $0.name == name }
    guard found.count <= 1 else {
      throw Problem(.invalidParameter, detail: "The parameter \(name) is there more than once.")
    }
    return found.first?.value
  }

  /// All parameters and their values. Throws where one is there twice.
  var all: [(name: String, value: String)] {
    get throws(Problem) {
      for (name, _) in values { _ = try text(name) }
      return values
    }
  }

  /// A whole number within bounds; nil where it isn't there.
  func integer(_ name: String, in range: ClosedRange<Int>) throws(Problem) -> Int? {
    guard let text = try text(name) else { return nil }
    guard let number = Int(text), range.contains(number) else {
      throw Problem(
        .invalidParameter,
        detail: "The parameter \(name) must be a whole number from \(range.lowerBound) to \(range.upperBound)."
      )
    }
    return number
  }

  private static func decoded(_ text: Substring) throws(Problem) -> String {
    var bytes: [UInt8] = []
    var rest = text.utf8[...]
    while let byte = rest.popFirst() {
      switch byte {
      case UInt8(ascii: "+"): bytes.append(UInt8(ascii: " "))
      case UInt8(ascii: "%"):
        guard let high = rest.popFirst().flatMap(hexadecimal), let low = rest.popFirst().flatMap(hexadecimal) else {
          throw Problem(.invalidParameter, detail: "The query has a % that two hexadecimal digits don't follow.")
        }
        bytes.append(high << 4 | low)
      default: bytes.append(byte)
      }
    }
    guard let decoded = String(validating: bytes, as: UTF8.self) else {
      throw Problem(.invalidParameter, detail: "The query isn't UTF-8 once it's percent-decoded.")
    }
    return decoded
  }

  private static func hexadecimal(_ byte: UInt8) -> UInt8? {
    Character(UnicodeScalar(byte)).hexDigitValue.map { UInt8($0) }
  }
}

extension Request {
  /// The parameters of the query.
  var query: QueryParameters {
    get throws(Problem) { try QueryParameters(head.query) }
  }
}
