/// How much a client wants one of several things it names (RFC 9110, 12.4.2).
enum Weight {
  /// That of what is named without one.
  static let full = 1000

  /// A weight in thousandths (RFC 9110, 12.4.2); what isn't one counts as zero, since a client that can't say it can't
  /// want it.
  static func thousandths(_ parameter: Substring) -> Int {
    let text = parameter.trimmingSpaces().lowercased()
    guard text.hasPrefix("q=") else { return 0 }
    let parts = text.dropFirst(2).split(separator: ".", omittingEmptySubsequences: false)
    guard let whole = parts.first, parts.count <= 2, whole == "0" || whole == "1" else { return 0 }
    let digits = parts.count == 2 ? parts[1] : ""
    guard digits.count <= 3, digits.allSatisfy({ $0.isASCII && $0.isNumber }) else { return 0 }
    let thousandths = Int(digits + String(repeating: "0", count: 3 - digits.count)) ?? 0
    guard whole == "1" else { return thousandths }
    return thousandths == 0 ? full : 0
  }
}

extension Substring {
  func trimmingSpaces() -> Substring {
    var rest = self
    while let first = rest.first, first == " " || first == "\t" { rest.removeFirst() }
    while let last = rest.last, last == " " || last == "\t" { rest.removeLast() }
    return rest
  }
}
