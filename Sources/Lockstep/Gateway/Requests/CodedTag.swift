import HTTP

/// The entity tags of gzipped answers.
///
/// Other bytes need another strong tag (RFC 9110, 8.8.3.3), so that of a gzipped answer has an ending of its own. To whoever
/// sends one back the ending means nothing: what the two stand for is the same state.
enum CodedTag {
  /// The tag, with its quotes, of the gzipped form of what has this tag. It still has a cursor's form where that has.
  static func gzipped(_ tag: String) -> String {
    guard tag.hasSuffix("\"") else { return tag }
    let points = tag.utf8.count { $0 == UInt8(ascii: ".") }
    return "\(tag.dropLast())\(points == 2 ? "." : "-")gz\""
  }

  /// A tag without its quotes, and without the ending that a gzipped answer's has.
  static func plain(_ tag: some StringProtocol) -> String {
    String(tag.hasSuffix(".gz") || tag.hasSuffix("-gz") ? tag.dropLast(3) : tag[...])
  }

  /// The fields of an answer that says that nothing is new, with the tag of the gzipped form where that is what the client
  /// has.
  static func shownAsSent(_ fields: HeaderFields, to head: RequestHead) -> HeaderFields {
    guard let tag = fields[.etag] else { return fields }
    let gzipped = gzipped(tag)
    guard head.list(.ifNoneMatch).contains(where: { $0 == gzipped || $0 == "W/\(gzipped)" }) else { return fields }
    return fields.replacing(.etag, gzipped)
  }
}
