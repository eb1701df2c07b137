/// A point in the history of one store: how far a user's state, and what the app has registered for all, had come.
///
/// To clients it's an opaque string, and the same for every resource: `since`, `at`, and the inside of an ETag. It names
/// its store, and its revisions name their era: one of another store, or of what came after a backup that was restored
/// since, isn't mistaken for one of this store's history.
package struct Cursor: Sendable, Hashable {
  /// The first digits of the store's identity.
  package let store: String
  /// The user's revision.
  package let revision: Revision
  /// The revision of the registered defaults.
  package var registered = Revision.none
  /// What tells apart representations that share their revisions, such as a page of a list; of `[A-Za-z0-9_-]`.
  package var detail: String?

  /// How many digits of a store's identity a cursor carries.
  package static let storeDigits = 8
  /// Ends the tag of a gzip response. A cursor may be sent back with it.
  package static let gzipSuffix = "-gzip"

  package init(store: String, revision: Revision, registered: Revision = .none, detail: String? = nil) {
    self.store = store
    self.revision = revision
    self.registered = registered
    self.detail = detail
  }

  /// Reads the text form; nil when it doesn't have a cursor's form.
  package init?(_ text: some StringProtocol) {
    // As bytes: every poll brings one, and characters would cost many times as much.
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

  /// The tag of a plain response, for the tag of its gzip form or its own.
  package static func plainTag(_ tag: String) -> String {
    tag.hasSuffix(gzipSuffix) ? String(tag.dropLast(gzipSuffix.count)) : tag
  }

  /// Takes what comes up to the next point, which stays.
  private static func takePart(of rest: inout ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    let part = rest.prefix { $0 != UInt8(ascii: ".") }
    rest = rest[part.endIndex...]
    return part
  }

  /// Takes a point and the revision behind it.
  private static func takeRevision(of rest: inout ArraySlice<UInt8>) -> Revision? {
    guard rest.popFirst() != nil else { return nil }
    return Revision(utf8: takePart(of: &rest))
  }

  /// The text form, of `[A-Za-z0-9._-]`.
  package var text: String {
    let points = "\(store).\(revision).\(registered)"
    return detail.map { "\(points).\($0)" } ?? points
  }

  private static func isWord(_ part: ArraySlice<UInt8>) -> Bool {
    !part.isEmpty
      && part.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"): true
        default: false
        }
      }
  }
}
