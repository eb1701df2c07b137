import LockstepJSON

/// A rule for a member of a module's elements, besides what the Swift type says.
///
/// A name such as `address/city` means a member within a member. A rule for a list, such as
/// `.bytes("tags", 1...50)`, holds for each element of the list.
public struct ElementRule: Sendable {
  enum Content: Sendable {
    case bytes(ClosedRange<Int>)
    case count(ClosedRange<Int>)
    case range(NumberRange)
    case fallback(JSON)
    case added
    case changed
    case readOnly
  }

  let name: String
  let content: Content

  /// A text has a number of UTF-8 bytes in this range. For a member of the type `JSON`, the bytes
  /// of its text.
  public static func bytes(_ name: String, _ bytes: ClosedRange<Int>) -> ElementRule {
    ElementRule(name: name, content: .bytes(bytes))
  }

  /// An array or a dictionary has a number of elements in this range.
  public static func count(_ name: String, _ count: ClosedRange<Int>) -> ElementRule {
    ElementRule(name: name, content: .count(count))
  }

  /// A number is in this range.
  public static func range(_ name: String, _ range: ClosedRange<Int>) -> ElementRule {
    ElementRule(name: name, content: .range(.whole(range)))
  }

  /// A number with a fraction is in this range.
  public static func range(_ name: String, _ range: ClosedRange<Double>) -> ElementRule {
    ElementRule(name: name, content: .range(.number(range)))
  }

  /// A decimal number is in this range.
  public static func range(_ name: String, _ range: ClosedRange<DecimalNumber>) -> ElementRule {
    ElementRule(name: name, content: .range(.decimal(range)))
  }

  /// Clients may leave the member out, and elements that were stored before the type had the member
  /// can be read: it then has this value.
  public static func `default`(_ name: String, _ value: JSON) -> ElementRule {
    ElementRule(name: name, content: .fallback(value))
  }

  /// The server sets the member to the time at which the element was added.
  public static func added(_ name: String) -> ElementRule { ElementRule(name: name, content: .added) }

  /// The server sets the member to the time at which the element was added or changed last.
  public static func changed(_ name: String) -> ElementRule { ElementRule(name: name, content: .changed) }

  /// Only the module's `decide` sets the member. For a new element it begins with its `default`,
  /// or with nil.
  public static func readOnly(_ name: String) -> ElementRule { ElementRule(name: name, content: .readOnly) }
}

/// Why a module's elements have no schema, for the module's author.
struct ShapeError: Error {
  let path: [String]
  let reason: String

  /// A phrase that continues “The module cannot be served:”.
  var phrase: String {
    path.isEmpty ? "its elements \(reason)" : "the member “\(path.joined(separator: "/"))” of its elements \(reason)"
  }
}

extension [ShapeMember] {
  /// Applies a rule. Throws if there is no such member, or if the rule does not fit its type.
  mutating func apply(_ rule: ElementRule) throws(ShapeError) {
    let path = rule.name.split(separator: "/").map(String.init)
    guard let first = path.first, let place = firstIndex(where: { $0.name.hasSameBytes(as: first) }) else {
      throw ShapeError(path: [], reason: "have no member “\(rule.name)”, but a rule has this name.")
    }
    let isFitting: Bool
    switch rule.content {
    case .bytes, .count, .range: isFitting = self[place].shape.apply(rule.content, at: path.dropFirst())
    case .fallback(let value):
      isFitting = path.count == 1
      (self[place].isRequired, self[place].fallback) = (false, value)
    case .added:
      isFitting = path.count == 1 && self[place].shape.isTime
      (self[place].isReadOnly, self[place].time) = (true, .added)
    case .changed:
      isFitting = path.count == 1 && self[place].shape.isTime
      (self[place].isReadOnly, self[place].time) = (true, .changed)
    case .readOnly:
      isFitting = path.count == 1
      self[place].isReadOnly = true
    }
    guard isFitting else {
      throw ShapeError(path: path, reason: "does not fit its rule `\(rule.content.name)`.")
    }
  }
}

extension ElementRule.Content {
  fileprivate var name: String {
    switch self {
    case .bytes: "bytes"
    case .count: "count"
    case .range: "range"
    case .fallback: "default"
    case .added: "added"
    case .changed: "changed"
    case .readOnly: "readOnly"
    }
  }
}

extension ValueShape {
  fileprivate var isTime: Bool {
    if case .time = kind { true } else { false }
  }

  /// Sets a bound of this shape, or of a member in it. Returns false if the bound does not fit.
  fileprivate mutating func apply(_ bound: ElementRule.Content, at path: ArraySlice<String>) -> Bool {
    switch (kind, bound) {
    case (.object(var members), _):
      guard let name = path.first, let place = members.firstIndex(where: { $0.name.hasSameBytes(as: name) }),
        members[place].shape.apply(bound, at: path.dropFirst())
      else { return false }
      kind = .object(members)
      return true
    case (.list, .count(let count)) where path.isEmpty, (.dictionary, .count(let count)) where path.isEmpty:
      self.count = count
      return true
    case (.list(var element), _):
      guard element.apply(bound, at: path) else { return false }
      kind = .list(element)
      return true
    case (.dictionary(var value), _):
      guard value.apply(bound, at: path) else { return false }
      kind = .dictionary(value)
      return true
    case (.text, .bytes(let bytes)) where path.isEmpty, (.any, .bytes(let bytes)) where path.isEmpty:
      self.bytes = ByteBounds(bytes)
      return true
    case (.whole, .range(.whole(let range))) where path.isEmpty,
      (.number, .range(.whole(let range))) where path.isEmpty,
      (.decimal, .range(.whole(let range))) where path.isEmpty:
      self.range = .whole(range)
      return true
    case (.number, .range(.number(let range))) where path.isEmpty:
      self.range = .number(range)
      return true
    case (.decimal, .range(.decimal(let range))) where path.isEmpty:
      self.range = .decimal(range)
      return true
    default: return false
    }
  }
}
