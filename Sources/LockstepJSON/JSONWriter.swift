/// Writes a value of any depth. It keeps a list of open containers instead of recursing.
struct JSONWriter: ~Copyable {
  private enum Children {
    case elements([JSON])
    case members([JSONObject.Member])
  }

  private struct Container {
    var children: Children
    var next = 0
  }

  private(set) var output = JSONOutputBuffer()
  private var containers: [Container] = []

  mutating func write(_ value: JSON) {
    guard !output.append(leaf: value) else { return }
    containers.reserveCapacity(8)
    open(value)
    while var container = containers.popLast() {
      if let child = writeChildren(of: &container) {
        containers.append(container)
        open(child)
      } else {
        close(container)
      }
    }
  }

  private mutating func open(_ value: JSON) {
    switch value {
    case .array(let elements):
      output.append(Ascii.openBracket)
      containers.append(Container(children: .elements(elements)))
    case .object(let object):
      output.append(Ascii.openBrace)
      containers.append(Container(children: .members(object.members)))
    default: return
    }
  }

  private mutating func close(_ container: Container) {
    switch container.children {
    case .elements: output.append(Ascii.closeBracket)
    case .members: output.append(Ascii.closeBrace)
    }
  }

  /// Writes children up to the first that has children itself, and returns that child.
  private mutating func writeChildren(of container: inout Container) -> JSON? {
    switch container.children {
    case .elements(let elements):
      return elements.withUnsafeBufferPointer { writeElements($0, from: &container.next) }
    case .members(let members):
      return members.withUnsafeBufferPointer { writeMembers($0, from: &container.next) }
    }
  }

  @inline(__always)
  private mutating func writeElements(_ elements: UnsafeBufferPointer<JSON>, from next: inout Int) -> JSON? {
    while next < elements.count {
      if next > 0 { output.append(Ascii.comma) }
      next &+= 1
      if !output.append(leaf: elements[next &- 1]) { return elements[next &- 1] }
    }
    return nil
  }

  @inline(__always)
  private mutating func writeMembers(
    _ members: UnsafeBufferPointer<JSONObject.Member>,
    from next: inout Int
  ) -> JSON? {
    while next < members.count {
      if next > 0 { output.append(Ascii.comma) }
      output.append(string: members[next].name)
      output.append(Ascii.colon)
      next &+= 1
      if !output.append(leaf: members[next &- 1].value) { return members[next &- 1].value }
    }
    return nil
  }
}
