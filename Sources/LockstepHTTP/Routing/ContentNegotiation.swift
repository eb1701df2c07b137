/// The coding of a response body that a client prefers (RFC 9110, 12.5.3).
public enum ContentCoding: Sendable {
  case identity
  /// The body compressed by zlib in the format of RFC 1952.
  case gzip

  /// The coding that `Accept-Encoding` prefers: gzip if its quality value is above 0 and not below
  /// that of identity. Without the field, it is identity, because a client such as `curl` shows the
  /// body as it arrives.
  public static func preferred(by head: RequestHead) -> ContentCoding {
    guard head.has(.acceptEncoding) else { return .identity }
    var gzip: Int?
    var identity: Int?
    var any: Int?
    for (name, quality) in head.qualityValues(.acceptEncoding, allowsParameters: false) {
      switch name {
      case "gzip", "x-gzip": gzip = quality
      case "identity": identity = quality
      case "*": any = quality
      default: break
      }
    }
    let gzipQuality = gzip ?? any ?? 0
    // A client that names only gzip prefers gzip, although identity is acceptable too.
    return gzipQuality > 0 && gzipQuality >= identity ?? any ?? 0 ? .gzip : .identity
  }
}

extension RequestHead {
  /// Whether the client accepts server-sent events with at least the quality value of JSON (RFC
  /// 9110, 12.5.1). `Accept` must contain `text/event-stream`: `*/*` does not ask for a stream.
  public var wantsEventStream: Bool { prefers("text/event-stream") }

  /// Whether the client accepts a page with at least the quality value of JSON, as browsers do.
  package var wantsPage: Bool { prefers("text/html") }

  /// The tags of `Accept-Language` in lowercase, the preferred ones first, at most 16 (RFC 9110,
  /// 12.5.4).
  package var preferredLanguages: [String] {
    guard has(.acceptLanguage) else { return [] }
    let values = qualityValues(.acceptLanguage, allowsParameters: false).filter { $0.quality > 0 && $0.name != "*" }
    let sorted = values.enumerated().sorted {
      ($1.element.quality, $0.offset) < ($0.element.quality, $1.offset)
    }
    return sorted.prefix(16).map(\.element.name)
  }

  private func prefers(_ type: String) -> Bool {
    guard has(.accept) else { return false }
    var (wanted, json) = (0, 0)
    for (name, quality) in qualityValues(.accept, allowsParameters: true) {
      switch name {
      case type: wanted = max(wanted, quality)
      case "application/json": json = max(json, quality)
      default: break
      }
    }
    return wanted > 0 && wanted >= json
  }

  /// The elements of a list in lowercase, each with its quality value in thousandths (RFC 9110,
  /// 12.4.2). An element without a quality value has 1000, an invalid element 0.
  fileprivate func qualityValues(_ name: FieldName, allowsParameters: Bool) -> [(name: String, quality: Int)] {
    list(name).map { element in
      let parts = element.lowercased().parts(separatedBy: ";").filter { !$0.isEmpty }.map { $0.trimmingSpaces() }
      let quality = parts.dropFirst().first { $0.hasPrefix("q=") }
      let isValid = allowsParameters || parts.count <= (quality == nil ? 1 : 2)
      return (parts.first.map(String.init) ?? "", isValid ? quality.map(Self.thousandths) ?? 1000 : 0)
    }
  }

  private static func thousandths(_ parameter: Substring) -> Int {
    let parts = parameter.dropFirst(2).split(separator: ".", omittingEmptySubsequences: false)
    guard let whole = parts.first, parts.count <= 2, whole == "0" || whole == "1" else { return 0 }
    let digits = parts.count == 2 ? parts[1] : ""
    let padding = String(repeating: "0", count: max(0, 3 - digits.count))
    guard digits.count <= 3, let thousandths = Int(whole + digits + padding) else { return 0 }
    return thousandths <= 1000 ? thousandths : 0
  }
}

extension StringProtocol where SubSequence == Substring {
  /// The parts between separators that are in no quoted string.
  func parts(separatedBy separator: Unicode.Scalar) -> [Substring] {
    var parts: [Substring] = []
    var rest = self[...]
    while let end = rest.utf8.indexOutsideQuotes(of: UInt8(ascii: separator)) {
      parts.append(rest[..<end])
      rest = rest[rest.utf8.index(after: end)...]
    }
    return parts + [rest]
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
