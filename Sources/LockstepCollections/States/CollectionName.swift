/// The name of a collection in a user's state, such as `favorites`, `profile` or
/// `defaults/standard`.
package struct CollectionName: Sendable, Hashable, Comparable, CustomStringConvertible {
  package let module: String
  /// The name within the module, if the module has several collections.
  package let part: String?

  package init(_ module: String, part: String? = nil) {
    self.module = module
    self.part = part
  }

  package init(text: some StringProtocol) {
    let slash = text.firstIndex(of: "/")
    module = String(text[..<(slash ?? text.endIndex)])
    part = slash.map { String(text[text.index(after: $0)...]) }
  }

  /// `favorites`, `defaults/standard`.
  package var description: String { part.map { "\(module)/\($0)" } ?? module }

  /// Hashes only the part that differs most, because each write looks up many names.
  package func hash(into hasher: inout Hasher) {
    hasher.combine(part ?? module)
  }

  package static func < (left: CollectionName, right: CollectionName) -> Bool {
    (left.module, left.part ?? "") < (right.module, right.part ?? "")
  }
}
