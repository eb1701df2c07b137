extension JSONPatch {
  /// The document after all operations. Throws for the first operation that fails.
  public func applied(to document: JSON, limits: JSONPatchLimits = .standard) throws(JSONPatchError) -> JSON {
    var work = Int.max
    return try applied(to: document, limits: limits, work: &work)
  }

  /// Like `applied(to:limits:)`. Takes the units of work that the operations need from `work`. If they do
  /// not suffice, throws and leaves `work` negative.
  package func applied(
    to document: JSON,
    limits: JSONPatchLimits = .standard,
    work: inout Int
  ) throws(JSONPatchError) -> JSON {
    guard operations.count <= limits.maximumOperations else {
      throw JSONPatchError(
        kind: .tooManyOperations(limit: limits.maximumOperations),
        operationIndex: operations.count,
        pointer: .root
      )
    }
    var within = limits
    within.maximumWork = min(limits.maximumWork, work)
    var application = PatchApplication(document, limits: within)
    defer { work = application.work > work ? -1 : work - application.work }
    for (index, operation) in operations.enumerated() {
      do throws(PatchFault) {
        try application.apply(operation)
      } catch {
        let place = JSONPointer.root.appending(index).appending(error.member)
        throw JSONPatchError(kind: error.kind, operationIndex: index, pointer: place)
      }
    }
    return application.document
  }
}

private struct PatchFault: Error {
  var kind: JSONPatchError.Kind
  var member = "path"
}

/// Applies operations to a document, and tracks its size and the work done.
private struct PatchApplication {
  private(set) var document: JSON
  private var byteCount: Int
  private(set) var work = 0
  private var limits: JSONPatchLimits

  init(_ document: JSON, limits: JSONPatchLimits) {
    self.document = document
    self.limits = limits
    self.limits.maximumDepth = min(max(limits.maximumDepth, 0), JSON.highestDepth)
    byteCount = document.encodedByteCount
  }

  mutating func apply(_ operation: JSONPatch.Operation) throws(PatchFault) {
    switch operation {
    case .add(let path, let value): try add(value, at: path)
    case .remove(let path): try remove(at: path)
    case .replace(let path, let value):
      _ = try resolve(path)
      try add(value, at: path, replaces: true)
    case .move(let source, let path): try move(from: source, to: path)
    case .copy(let source, let path): try add(try resolve(source, member: "from"), at: path)
    case .test(let path, let value):
      guard let found = path.tokens.isEmpty ? document : document[path], found == value else {
        throw PatchFault(kind: .testFailed)
      }
    }
  }

  private mutating func move(from source: JSONPointer, to path: JSONPointer) throws(PatchFault) {
    let value = try resolve(source, member: "from")
    if source == path { return }
    guard !source.isProperPrefix(of: path) else { throw PatchFault(kind: .moveIntoOwnChild) }
    try remove(at: source, member: "from")
    try add(value, at: path)
  }

  private func resolve(_ path: JSONPointer, member: String = "path") throws(PatchFault) -> JSON {
    do throws(JSONPointerError) {
      return try path.resolve(in: document)
    } catch {
      throw PatchFault(kind: .notFound(error), member: member)
    }
  }

  /// Sets a member, inserts an element, or replaces the document. If `replaces` is true, the path
  /// has a value, and an element is replaced instead of inserted.
  private mutating func add(_ value: JSON, at path: JSONPointer, replaces: Bool = false) throws(PatchFault) {
    let size = try measure(value, at: path)
    guard !path.tokens.isEmpty else {
      document = value
      return try resize(to: size)
    }
    let change = try changeParent(of: path) { (object, name) in
      let old = object.updateValue(value, named: name)
      let nameSize = JSONMeasure.byteCount(ofString: name) + 1
      return Change(old: old, grownBy: old == nil ? nameSize + (object.count > 1 ? 1 : 0) : 0)
    } array: { (elements) throws(JSONPointerError) in
      if replaces {
        let index = try path.elementIndex(at: path.tokens.count - 1, count: elements.count)
        let old = elements[index]
        elements[index] = value
        return Change(old: old)
      }
      let index = try path.insertionIndex(count: elements.count)
      elements.insert(value, at: index)
      return Change(grownBy: elements.count > 1 ? 1 : 0, placesMoved: elements.count - index)
    }
    try account(for: change, newSize: size)
  }

  private mutating func remove(at path: JSONPointer, member: String = "path") throws(PatchFault) {
    guard !path.tokens.isEmpty else { throw PatchFault(kind: .removesDocument, member: member) }
    let change = try changeParent(of: path, member: member) { (object, name) throws(JSONPointerError) in
      let count = object.count
      guard let old = object.removeValue(named: name) else {
        throw path.error(.noSuchMember, at: path.tokens.count - 1)
      }
      let nameSize = JSONMeasure.byteCount(ofString: name) + 1
      return Change(old: old, grownBy: -nameSize - (count > 1 ? 1 : 0), placesMoved: count)
    } array: { (elements) throws(JSONPointerError) in
      let count = elements.count
      let index = try path.elementIndex(at: path.tokens.count - 1, count: count)
      return Change(old: elements.remove(at: index), grownBy: count > 1 ? -1 : 0, placesMoved: count - index)
    }
    try account(for: change, newSize: 0)
  }

  /// The effect of an operation on the parent of its target.
  private struct Change {
    var old: JSON?
    /// The growth of the parent in bytes, without its values: a name, a colon, a comma.
    var grownBy = 0
    /// How many elements or members moved to another place.
    var placesMoved = 0
  }

  private mutating func changeParent(
    of path: JSONPointer,
    member: String = "path",
    object changeObject: (inout JSONObject, String) throws(JSONPointerError) -> Change,
    array changeArray: (inout [JSON]) throws(JSONPointerError) -> Change
  ) throws(PatchFault) -> Change {
    do throws(JSONPointerError) {
      return try path.modifyParent(in: &document, from: 0) { (parent, name) throws(JSONPointerError) -> Change in
        if var object = parent.takeObject() {
          let change = try changeObject(&object, name)
          parent = .object(object)
          return change
        }
        if var elements = parent.takeElements() {
          let change = try changeArray(&elements)
          parent = .array(elements)
          return change
        }
        throw path.error(.notAContainer, at: path.tokens.count - 1)
      }
    } catch {
      throw PatchFault(kind: .notFound(error), member: member)
    }
  }

  /// The size of a new value. Throws if it would be too deep at the path.
  private mutating func measure(_ value: JSON, at path: JSONPointer) throws(PatchFault) -> Int {
    let measure = JSONMeasure(of: value)
    try doWork(measure.byteCount)
    guard path.tokens.count + measure.depth <= limits.maximumDepth || measure.depth == 0 else {
      throw PatchFault(kind: .tooDeep(limit: limits.maximumDepth))
    }
    return measure.byteCount
  }

  private mutating func account(for change: Change, newSize: Int) throws(PatchFault) {
    let oldSize = change.old.map(\.encodedByteCount) ?? 0
    try doWork(oldSize + change.placesMoved)
    try resize(to: byteCount + newSize - oldSize + change.grownBy)
  }

  /// A document that was too large before the patch may still shrink.
  private mutating func resize(to newByteCount: Int) throws(PatchFault) {
    guard newByteCount <= max(limits.maximumByteCount, byteCount) else {
      throw PatchFault(kind: .tooLarge(limit: limits.maximumByteCount))
    }
    byteCount = newByteCount
  }

  private mutating func doWork(_ units: Int) throws(PatchFault) {
    work += units + 1
    guard work <= limits.maximumWork else { throw PatchFault(kind: .tooMuchWork(limit: limits.maximumWork)) }
  }
}

extension JSONPointer {
  /// Passes the parent of the target and the last token to `body`. The pointer has at least one
  /// token. Recurses no deeper than the document.
  fileprivate func modifyParent<Result>(
    in value: inout JSON,
    from position: Int,
    _ body: (inout JSON, String) throws(JSONPointerError) -> Result
  ) throws(JSONPointerError) -> Result {
    guard position < tokens.count - 1 else { return try body(&value, tokens[position]) }
    // After a failure, the value is not put back, because the caller discards this document.
    if var object = value.takeObject() {
      let result = try object.modifyValue(named: tokens[position]) { (child) throws(JSONPointerError) -> Result in
        try modifyParent(in: &child, from: position + 1, body)
      }
      guard let result else { throw error(.noSuchMember, at: position) }
      value = .object(object)
      return result
    }
    if var elements = value.takeElements() {
      let index = try elementIndex(at: position, count: elements.count)
      let result = try modifyParent(in: &elements[index], from: position + 1, body)
      value = .array(elements)
      return result
    }
    throw error(.notAContainer, at: position)
  }

  /// The index at which the last token inserts into an array of `count` elements. `-` is the end.
  fileprivate func insertionIndex(count: Int) throws(JSONPointerError) -> Int {
    if tokens.last == "-" { return count }
    let position = tokens.count - 1
    guard let index = Self.index(of: tokens[position]) else { throw error(.invalidIndex, at: position) }
    guard index <= count else { throw error(.noSuchElement(count: count), at: position) }
    return index
  }
}
