import LockstepJSON

/// The name of a collection in a user's state, such as `favorites`, `profile` or
/// `defaults/standard`. Names are compared by bytes, as in the store.
package struct CollectionName: Sendable, Hashable, Comparable, CustomStringConvertible {
  package let module: String
  /// The collection's name within the module; nil if the module has only one collection.
  package let part: String?

  package init(_ module: String, part: String? = nil) {
    self.module = module
    self.part = part
  }

  package init(text: some StringProtocol) {
    let slash = text.utf8.firstIndex(of: UInt8(ascii: "/"))
    module = String(text[..<(slash ?? text.endIndex)])
    part = slash.map { String(text[text.index(after: $0)...]) }
  }

  /// For example `favorites` or `defaults/standard`.
  package var description: String { part.map { "\(module)/\($0)" } ?? module }

  package static func == (left: CollectionName, right: CollectionName) -> Bool {
    guard left.module.hasSameBytes(as: right.module) else { return false }
    guard let part = left.part, let other = right.part else { return left.part == nil && right.part == nil }
    return part.hasSameBytes(as: other)
  }

  /// Hashes only `part`, or `module` if `part` is nil, because each write hashes many names.
  package func hash(into hasher: inout Hasher) {
    (part ?? module).hashBytes(into: &hasher)
  }

  package static func < (left: CollectionName, right: CollectionName) -> Bool {
    (left.module.exact, left.part?.exact ?? "") < (right.module.exact, right.part?.exact ?? "")
  }
}
