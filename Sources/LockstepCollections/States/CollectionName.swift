/// Which part of a user's state: `favorites`, `profile`, or one of several alike, `defaults/standard`.
package struct CollectionName: Sendable, Hashable, Comparable, CustomStringConvertible {
  /// The module that it belongs to.
  package let module: String
  /// Which of the module's collections, where it has several.
  package let part: String?

  package init(_ module: String, part: String? = nil) {
    self.module = module
    self.part = part
  }

  /// Reads the text form.
  package init(text: some StringProtocol) {
    let slash = text.firstIndex(of: "/")
    module = String(text[..<(slash ?? text.endIndex)])
    part = slash.map { String(text[text.index(after: $0)...]) }
  }

  /// `favorites`, `defaults/standard`.
  package var description: String { part.map { "\(module)/\($0)" } ?? module }

  /// Looked up many times in each write, so only what differs most goes in.
  package func hash(into hasher: inout Hasher) {
    hasher.combine(part ?? module)
  }

  package static func < (left: CollectionName, right: CollectionName) -> Bool {
    (left.module, left.part ?? "") < (right.module, right.part ?? "")
  }
}
