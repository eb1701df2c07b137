import LockstepComposition

/// The places at which two JSON values differ, as lines for people.
enum JSONDifference {
  /// Members of objects are compared one by one. Arrays are compared as a whole.
  static func lines(_ old: JSON, _ new: JSON, at pointer: JSONPointer = .root) -> [String] {
    if old.encoded() == new.encoded() { return [] }
    guard let oldObject = old.objectValue, let newObject = new.objectValue else {
      return ["\(show(pointer)): \(text(old)) → \(text(new))"]
    }
    var lines: [String] = []
    for (name, value) in oldObject {
      let place = pointer.appending(name)
      if let other = newObject[name] {
        lines += Self.lines(value, other, at: place)
      } else {
        lines.append("\(show(place)): \(text(value)) → (none)")
      }
    }
    for (name, value) in newObject where oldObject[name] == nil {
      lines.append("\(show(pointer.appending(name))): (none) → \(text(value))")
    }
    // The order of members has no meaning, but the store keeps it.
    return lines.isEmpty ? ["\(show(pointer)): another order of members"] : lines
  }

  private static func show(_ pointer: JSONPointer) -> String { Terminal.harmless(pointer.description) }

  private static let longest = 200

  private static func text(_ json: JSON) -> String {
    let text = json.description
    return Terminal.harmless(text.count > longest ? text.prefix(longest) + "…" : text)
  }
}
