import LockstepCollections
import LockstepHTTP
import LockstepJSON
import LockstepSync

/// A request's `If-Match` and `If-None-Match` (RFC 9110, 13).
package struct Preconditions: Sendable {
  package enum Tags: Sendable, Equatable {
    case any
    case these([Tag])
  }

  /// An entity tag without its quotes, and without the suffix of a gzip form.
  package struct Tag: Sendable, Equatable {
    package let text: String
    package let isWeak: Bool

    package static func == (left: Tag, right: Tag) -> Bool {
      left.text.hasSameBytes(as: right.text) && left.isWeak == right.isWeak
    }
  }

  package let ifMatch: Tags?
  package let ifNoneMatch: Tags?

  package init(of head: RequestHead) throws(Problem) {
    ifMatch = try Self.tags(head, .ifMatch)
    ifNoneMatch = try Self.tags(head, .ifNoneMatch)
  }

  /// The precondition that a resource has this tag.
  package init(ifMatch tag: String) {
    self.init(ifMatch: .these([Tag(text: Cursor.plainTag(tag), isWeak: false)]), ifNoneMatch: nil)
  }

  private init(ifMatch: Tags?, ifNoneMatch: Tags?) { (self.ifMatch, self.ifNoneMatch) = (ifMatch, ifNoneMatch) }

  package var isEmpty: Bool { ifMatch == nil && ifNoneMatch == nil }

  /// The part that a read must meet before `If-None-Match` is compared (RFC 9110, 13.2.2).
  package var withoutIfNoneMatch: Preconditions { Preconditions(ifMatch: ifMatch, ifNoneMatch: nil) }

  /// The part that ends a wait. `If-Match` holds for the state at the beginning of the wait.
  package var withoutIfMatch: Preconditions { Preconditions(ifMatch: nil, ifNoneMatch: ifNoneMatch) }

  /// The strong tags of `If-Match`.
  package var requiredTags: [String] {
    guard case .these(let tags)? = ifMatch else { return [] }
    return tags.filter { !$0.isWeak }.map(\.text)
  }

  /// Whether the client has this representation, so that the response is 304.
  package func isFresh(_ representation: Representation) -> Bool {
    ifNoneMatch == .any || freshTag(for: representation) != nil
  }

  /// Whether the client has the representation with this cursor.
  package func isFresh(_ cursor: Cursor) -> Bool { ifNoneMatch == .any || freshTag(cursor, cursor.text) != nil }

  /// Whether the client has the representation with this tag. The tag is not a cursor.
  package func isFresh(_ tag: String) -> Bool {
    guard case .these(let tags)? = ifNoneMatch else { return ifNoneMatch == .any }
    return tags.contains { $0.text.hasSameBytes(as: tag) }
  }

  /// The client's tag that stands for this representation.
  package func freshTag(for representation: Representation) -> String? {
    freshTag(representation.cursor, representation.tag)
  }

  /// The client's tag that stands for the representation with a cursor. `tag` is the cursor's text.
  package func freshTag(_ cursor: Cursor, _ tag: String) -> String? {
    guard case .these(let tags)? = ifNoneMatch else { return nil }
    // Compares the texts first: they are nearly always equal, and then no cursor has to be parsed.
    return tags.first { $0.text.hasSameBytes(as: tag) || cursor.isValidated(by: $0.text) }?.text
  }

  /// Whether a write may continue. `cursor` is the cursor of the present representation. `isOwn` is
  /// false if that is a registered default, which the user has not set. `If-None-Match: *` then
  /// allows the write. `isUnchanged` is true if a tag is a cursor of the user's state, and the
  /// resource has not changed since.
  package func allowsWrite(to cursor: Cursor?, isOwn: Bool = true, isUnchanged: Bool = false) -> Bool {
    switch ifMatch {
    case nil: break
    case .any: if cursor == nil { return false }
    case .these(let tags):
      if isUnchanged { break }
      guard let cursor, tags.contains(where: { !$0.isWeak && cursor.isValidated(by: $0.text) }) else { return false }
    }
    switch ifNoneMatch {
    case nil: return true
    case .any: return cursor == nil || !isOwn
    case .these(let tags): return !tags.contains { cursor?.isValidated(by: $0.text) ?? false }
    }
  }

  /// Whether a write to a resource with this tag may continue. The tag is not a cursor. If `state`
  /// is given, `If-Match` also accepts any cursor of the same store and revision.
  package func allowsWrite(to tag: String, orStateAt state: Cursor? = nil) -> Bool {
    if case .these(let tags)? = ifMatch {
      let isMatch = tags.contains { given in
        !given.isWeak && (given.text.hasSameBytes(as: tag) || state?.hasRevision(of: given.text) ?? false)
      }
      guard isMatch else { return false }
    }
    return !isFresh(tag)
  }

  /// Throws `precondition-failed` if `If-Match` forbids to read the representation with this tag.
  /// `current` is that representation if it is JSON.
  package func checkRead(of tag: String, current: @autoclosure () -> JSON? = nil) throws(Problem) {
    guard !withoutIfNoneMatch.allowsWrite(to: tag) else { return }
    throw Problem(
      .preconditionFailed,
      members: (current().map { [("current", $0)] } ?? []) + [("cursor", .string(tag))],
      fields: HeaderFields([.etag: "\"\(tag)\""])
    )
  }

  private static func tags(_ head: RequestHead, _ name: FieldName) throws(Problem) -> Tags? {
    guard head.has(name) else { return nil }
    let values = head.values(name)
    if values == [[UInt8(ascii: "*")]] { return .any }
    var tags: [Tag] = []
    for value in values {
      guard let read = Tag.list(value[...]) else {
        throw Problem(
          .invalidParameter,
          detail: "The field \(name.text) must be * or a list of entity tags in double quotes, as in ETag."
        )
      }
      tags += read
    }
    return .these(tags)
  }
}

extension Preconditions.Tag {
  /// Reads a list of tags (RFC 9110, 8.8.3); nil if it is malformed. A tag may contain commas.
  fileprivate static func list(_ field: ArraySlice<UInt8>) -> [Self]? {
    let quote = UInt8(ascii: "\"")
    let isBlank = { (byte: UInt8) in byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
    var tags: [Self] = []
    var rest = field
    while true {
      // Elements of the list may be empty.
      rest = rest.drop { isBlank($0) || $0 == UInt8(ascii: ",") }
      guard !rest.isEmpty else { return tags }
      let isWeak = rest.starts(with: "W/".utf8)
      if isWeak { rest = rest.dropFirst(2) }
      guard rest.popFirst() == quote, let end = rest.firstIndex(of: quote) else { return nil }
      let text = String(decoding: rest[..<end], as: UTF8.self)
      tags.append(Self(text: Cursor.plainTag(text), isWeak: isWeak))
      rest = rest[(end + 1)...].drop(while: isBlank)
      guard rest.isEmpty || rest.first == UInt8(ascii: ",") else { return nil }
    }
  }
}

extension Cursor {
  /// Whether a tag stands for the same bytes. The tag of a part of a collection, such as a page,
  /// contains a digest of that part. So it stays valid if only the rest of the collection changes.
  package func isValidated(by tag: String) -> Bool {
    if tag.hasSameBytes(as: text) { return true }
    guard let digest, let other = Cursor(tag) else { return false }
    return other.store == store && other.digest == digest
  }

  fileprivate func hasRevision(of tag: String) -> Bool {
    guard let other = Cursor(tag) else { return false }
    return other.store == store && other.revision == revision
  }

  private var digest: String? { detail.flatMap { $0.hasPrefix("d") ? $0 : nil } }
}
