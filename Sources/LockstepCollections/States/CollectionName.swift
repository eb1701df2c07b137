/// The name of a collection in a user's state, such as `favorites`, `profile` or
/// `defaults/standard`.
package struct CollectionName: Sendable, Hashable, Comparable, CustomStringConvertible {
  package let module: String
  /// The collection's name within the module; nil if the module has only one collection.
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

  /// For example `favorites` or `defaults/standard`.
  package var description: String { part.map { "\(module)/\($0)" } ?? module }

  /// Hashes only `part`, or `module` if `part` is nil, because each write hashes many names.
  package func hash(into hasher: inout Hasher) {
    hasher.combine(part ?? module)
  }

  package static func < (left: CollectionName, right: CollectionName) -> Bool {
    (left.module, left.part ?? "") < (right.module, right.part ?? "")
  }
}
