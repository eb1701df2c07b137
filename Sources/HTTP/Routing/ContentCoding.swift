/// Which coding of a body a client would rather have (RFC 9110, 12.5.3).
public enum ContentCoding: Sendable {
  /// The body as it is.
  case identity
  /// The body as zlib compresses it, in the format of RFC 1952.
  case gzip

  /// What `Accept-Encoding` asks for: gzip when its weight is over zero and not under that of identity.
  ///
  /// Without the field it's identity: a client that says nothing, such as plain `curl`, wants to read what it gets.
  public static func preferred(by head: RequestHead) -> ContentCoding {
    guard head.has(.acceptEncoding) else { return .identity }
    var gzip: Int?
    var identity: Int?
    var any: Int?
    for element in head.list(.acceptEncoding) {
      let parts = element.split(separator: ";", maxSplits: 1)
      let name = parts.first.map { $0.trimmingSpaces().lowercased() } ?? ""
      let weight = parts.count > 1 ? weight(parts[1]) : 1000
      switch name {
      case "gzip", "x-gzip": gzip = weight
      case "identity": identity = weight
      case "*": any = weight
      default: break
      }
    }
    let gzipWeight = gzip ?? any ?? 0
    // Identity is always acceptable unless it's ruled out, but who names gzip and not identity prefers gzip.
    let identityWeight = identity ?? any ?? 0
    return gzipWeight > 0 && gzipWeight >= identityWeight ? .gzip : .identity
  }

  /// A weight in thousandths (RFC 9110, 12.4.2); what isn't one counts as zero, since a client that can't say it can't
  /// want it.
  private static func weight(_ parameter: Substring) -> Int {
    let text = parameter.trimmingSpaces().lowercased()
    guard text.hasPrefix("q=") else { return 0 }
    let parts = text.dropFirst(2).split(separator: ".", omittingEmptySubsequences: false)
    guard let whole = parts.first, parts.count <= 2, whole == "0" || whole == "1" else { return 0 }
    let digits = parts.count == 2 ? parts[1] : ""
    guard digits.count <= 3, digits.allSatisfy({ $0.isASCII && $0.isNumber }) else { return 0 }
    let thousandths = Int(digits + String(repeating: "0", count: 3 - digits.count)) ?? 0
    guard whole == "1" else { return thousandths }
    return thousandths == 0 ? 1000 : 0
  }
}

extension Substring {
  fileprivate func trimmingSpaces() -> Substring {
    var rest = self
    while let first = rest.first, first == " " || first == "\t" { rest.removeFirst() }
    while let last = rest.last, last == " " || last == "\t" { rest.removeLast() }
    return rest
  }
}
