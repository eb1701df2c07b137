/// A position in the history of one store: the user's revision and the revision of the registered
/// defaults.
///
/// For clients it is an opaque text. They use the same cursors in `since`, in `at` and in ETags. A
/// cursor contains the store's id and the eras of its revisions. So the server recognises a cursor
/// of another store, and a cursor of history that was lost when a backup was restored.
package struct Cursor: Sendable, Hashable {
  /// The first digits of the store's id.
  package let store: String
  package let revision: Revision
  package var registered = Revision.none
  /// Distinguishes representations with the same revisions, such as the pages of a list.
  /// Characters: `[A-Za-z0-9_-]`.
  package var detail: String?

  /// The number of digits of the store's id in a cursor.
  package static let storeDigits = 8
  /// The suffix of a gzip response's ETag. Clients may send a cursor with this suffix.
  package static let gzipSuffix = "-gzip"

  package init(store: String, revision: Revision, registered: Revision = .none, detail: String? = nil) {
    self.store = store
    self.revision = revision
    self.registered = registered
    self.detail = detail
  }

  /// Reads the text form. Returns `nil` for anything else.
  package init?(_ text: some StringProtocol) {
    // Each poll has a cursor. So this reads bytes: reading characters would take many times as
    // long.
    var rest = Array(text.utf8)[...]
    if rest.suffix(Self.gzipSuffix.utf8.count).elementsEqual(Self.gzipSuffix.utf8) {
      rest.removeLast(Self.gzipSuffix.utf8.count)
    }
    let store = Self.takePart(of: &rest)
    guard Self.isWord(store), let revision = Self.takeRevision(of: &rest), let registered = Self.takeRevision(of: &rest)
    else { return nil }
    var detail: String?
    if rest.popFirst() != nil {
      guard Self.isWord(rest) else { return nil }
      detail = String(decoding: rest, as: UTF8.self)
    }
    self.init(store: String(decoding: store, as: UTF8.self), revision: revision, registered: registered, detail: detail)
  }

  /// The ETag without the suffix of a gzip response.
  package static func plainTag(_ tag: String) -> String {
    tag.hasSuffix(gzipSuffix) ? String(tag.dropLast(gzipSuffix.count)) : tag
  }

  /// Takes the part before the next point. The point stays.
  private static func takePart(of rest: inout ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    let part = rest.prefix { $0 != UInt8(ascii: ".") }
    rest = rest[part.endIndex...]
    return part
  }

  private static func takeRevision(of rest: inout ArraySlice<UInt8>) -> Revision? {
    guard rest.popFirst() != nil else { return nil }
    return Revision(utf8: takePart(of: &rest))
  }

  /// The text form. Characters: `[A-Za-z0-9._-]`.
  package var text: String {
    // Each write needs a few cursors, and appending to a string takes several times as long.
    var bytes: [UInt8] = []
    bytes.reserveCapacity(64)
    bytes.append(contentsOf: store.utf8)
    bytes.append(UInt8(ascii: "."))
    revision.append(to: &bytes)
    bytes.append(UInt8(ascii: "."))
    registered.append(to: &bytes)
    if let detail {
      bytes.append(UInt8(ascii: "."))
      bytes.append(contentsOf: detail.utf8)
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  private static func isWord(_ part: ArraySlice<UInt8>) -> Bool {
    !part.isEmpty && part.allSatisfy { $0.isWordCharacter }
  }
}

extension UInt8 {
  /// Whether this is one of `[A-Za-z0-9_-]`.
  package var isWordCharacter: Bool {
    switch self {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"): true
    default: false
    }
  }
}
