/// A point in the history of one store: how far a user's state, and what the app has registered for all, had come.
///
/// To clients it's an opaque string, and the same for every resource: `since`, `at`, and the inside of an ETag. It names
/// its store, and its revisions name their era: one of another store, or of what came after a backup that was restored
/// since, isn't mistaken for one of this store's history.
struct Cursor: Sendable, Hashable {
  /// The first digits of the store's identity.
  let store: String
  /// The user's revision.
  let revision: Revision
  /// The revision of the registered defaults.
  var registered = Revision.none
  /// What tells apart representations that share their revisions, such as a page of a list; of `[A-Za-z0-9_-]`.
  var detail: String?

  /// How many digits of a store's identity a cursor carries.
  static let storeDigits = 8

  init(store: String, revision: Revision, registered: Revision = .none, detail: String? = nil) {
    self.store = store
    self.revision = revision
    self.registered = registered
    self.detail = detail
  }

  /// Reads the text form; nil when it doesn't have a cursor's form.
  init?(_ text: some StringProtocol) {
    // Byte by byte: every poll brings one, and characters would cost many times as much.
    let parts = Substring(text).utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard (3...4).contains(parts.count), Self.isWord(parts[0]), let revision = Revision(utf8: parts[1]),
      let registered = Revision(utf8: parts[2]), parts.count == 3 || Self.isWord(parts[3])
    else { return nil }
    self.init(
      store: String(Substring(parts[0])),
      revision: revision,
      registered: registered,
      detail: parts.count == 4 ? String(Substring(parts[3])) : nil
    )
  }

  /// The text form, of `[A-Za-z0-9._-]`.
  var text: String {
    let points = "\(store).\(revision).\(registered)"
    return detail.map { "\(points).\($0)" } ?? points
  }

  private static func isWord(_ part: Substring.UTF8View) -> Bool {
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
