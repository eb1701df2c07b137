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
      let weight = parts.count > 1 ? Weight.thousandths(parts[1]) : Weight.full
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
}
