import LockstepHTTP
import LockstepJSON

/// The decoded parameters of a query. `+` and `%20` are spaces, as forms and browsers write them.
package struct QueryParameters {
  private var values: [(name: String, value: String)] = []

  /// Reads a query. Throws `invalid-parameter` if it cannot be decoded.
  package init(_ query: ArraySlice<UInt8>) throws(Problem) {
    var rest = query
    while !rest.isEmpty {
      let pair = rest.prefix { $0 != UInt8(ascii: "&") }
      rest = rest[pair.endIndex...].dropFirst()
      guard !pair.isEmpty else { continue }
      let name = pair.prefix { $0 != UInt8(ascii: "=") }
      values.append((try Self.decoded(name), try Self.decoded(pair[name.endIndex...].dropFirst())))
    }
  }

  var names: [String] { values.map(\.name) }

  /// Whether each name in the query is one of `known`. Decodes and allocates nothing.
  static func names(in query: ArraySlice<UInt8>, areAllIn known: [String]) -> Bool {
    query.withUnsafeBufferPointer { query in
      var rest = query[...]
      while !rest.isEmpty {
        let pair = rest.prefix { $0 != UInt8(ascii: "&") }
        rest = rest[pair.endIndex...].dropFirst()
        let name = pair.prefix { $0 != UInt8(ascii: "=") }
        guard pair.isEmpty || known.contains(where: { $0.utf8.elementsEqual(name) }) else { return false }
      }
      return true
    }
  }

  /// The value of a parameter; nil without it. Throws if the query has it more than once.
  package func text(_ name: String) throws(Problem) -> String? {
    guard let first = values.firstIndex(where: { $0.name.hasSameBytes(as: name) }) else { return nil }
    guard !values[(first + 1)...].contains(where: { $0.name.hasSameBytes(as: name) }) else { throw Self.repeated(name) }
    return values[first].value
  }

  /// The values of a parameter that may occur several times, in their order.
  package func texts(_ name: String) -> [String] { values.filter { $0.name.hasSameBytes(as: name) }.map(\.value) }

  private static func repeated(_ name: String) -> Problem {
    Problem(.invalidParameter, detail: "The query has the parameter “\(name)” more than once.")
  }

  /// All parameters and their values. Throws if a parameter occurs more than once.
  package var all: [(name: String, value: String)] {
    get throws(Problem) {
      var names: Set<ExactText> = []
      for (name, _) in values where !names.insert(name.exact).inserted { throw Self.repeated(name) }
      return values
    }
  }

  /// A whole number within bounds; nil without the parameter.
  package func integer(_ name: String, in range: ClosedRange<Int>) throws(Problem) -> Int? {
    guard let text = try text(name) else { return nil }
    guard text.first != "+", let number = Int(text), range.contains(number) else {
      throw Problem(
        .invalidParameter,
        detail: "The parameter “\(name)” must be a whole number from \(range.lowerBound) to \(range.upperBound)."
      )
    }
    return number
  }

  /// `true` or `false`; false if the parameter is missing.
  package func flag(_ name: String) throws(Problem) -> Bool {
    switch try text(name) {
    case nil, "false": return false
    case "true": return true
    case _?: throw Problem(.invalidParameter, detail: "The parameter “\(name)” must be true or false.")
    }
  }

  private static func decoded(_ text: ArraySlice<UInt8>) throws(Problem) -> String {
    let isPlain = !text.contains { $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "%") }
    if isPlain { return String(decoding: text, as: UTF8.self) }
    guard let bytes = PercentEncoding.decoded(text, isQuery: true) else {
      throw Problem(.invalidParameter, detail: "The query has a % that is not followed by two hexadecimal digits.")
    }
    guard let decoded = String(validating: bytes, as: UTF8.self) else {
      throw Problem(.invalidParameter, detail: "The percent-decoded query is not UTF-8.")
    }
    return decoded
  }
}

extension Request {
  package var query: QueryParameters {
    get throws(Problem) { try QueryParameters(head.queryBytes) }
  }
}
