/// A value as lines of `path: leaf`, in the same order in every run.
func describe(_ value: Any, path: String = "") -> [(path: String, leaf: String)] {
  let mirror = Mirror(reflecting: value)
  let here = path.isEmpty ? "state" : path
  switch mirror.displayStyle {
  case .optional:
    guard let content = mirror.children.first?.value else { return [(here, "nil")] }
    return describe(content, path: path)
  case .collection:
    if mirror.children.isEmpty { return [(here, "[]")] }
    return mirror.children.enumerated().flatMap { describe($1.value, path: "\(path)[\($0)]") }
  case .dictionary:
    return describeDictionary(mirror, path: path, here: here)
  case .set:
    let elements = mirror.children.map { leaf($0.value) }.sorted()
    return [(here, "{\(elements.joined(separator: ", "))}")]
  case .struct, .class, .tuple:
    if value is any CustomStringConvertible || mirror.children.isEmpty { return [(here, leaf(value))] }
    return mirror.children.flatMap { child in
      let name = child.label.map(propertyName) ?? "?"
      return describe(child.value, path: path.isEmpty ? name : "\(path).\(name)")
    }
  default:
    return [(here, leaf(value))]
  }
}

/// The lines in which two values differ: `−` expected, `+` actual.
func difference(expected: Any, actual: Any) -> String {
  let expectedLines = describe(expected)
  let actualLines = describe(actual)
  let expectedLeaves = Dictionary(expectedLines.map { ($0.path, $0.leaf) }) { first, _ in first }
  let actualLeaves = Dictionary(actualLines.map { ($0.path, $0.leaf) }) { first, _ in first }
  var lines: [String] = []
  for line in expectedLines where actualLeaves[line.path] != line.leaf {
    lines.append("    − \(line.path): \(line.leaf)")
    if let actual = actualLeaves[line.path] { lines.append("    + \(line.path): \(actual)") }
  }
  for line in actualLines where expectedLeaves[line.path] == nil {
    lines.append("    + \(line.path): \(line.leaf)")
  }
  if lines.isEmpty { return "    (the values are unequal, but print the same)" }
  return lines.joined(separator: "\n")
}

private func describeDictionary(_ mirror: Mirror, path: String, here: String) -> [(path: String, leaf: String)] {
  if mirror.children.isEmpty { return [(here, "[:]")] }
  let entries = mirror.children.compactMap { child -> (key: String, value: Any)? in
    let pair = Array(Mirror(reflecting: child.value).children)
    return pair.count == 2 ? (leaf(pair[0].value), pair[1].value) : nil
  }
  return entries.sorted { $0.key < $1.key }.flatMap { describe($0.value, path: "\(path)[\($0.key)]") }
}

/// Quotes text, so that empty text and white space are visible.
private func leaf(_ value: Any) -> String {
  if let text = value as? String { return String(reflecting: text) }
  return String(describing: value)
}

/// The storage of a property wrapper has the property's name after an underscore.
private func propertyName(_ label: String) -> String {
  label.first == "_" ? String(label.dropFirst()) : label
}
