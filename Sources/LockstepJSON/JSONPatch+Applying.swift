extension JSONPatch {
  /// The document after all operations. The document itself stays as it is, so a failure changes nothing.
  ///
  /// - Throws: `JSONPatchError` with the first operation that failed, and why.
  public func applied(to document: JSON, limits: JSONPatchLimits = .standard) throws(JSONPatchError) -> JSON {
    guard operations.count <= limits.maximumOperations else {
      throw JSONPatchError(
        kind: .tooManyOperations(limit: limits.maximumOperations),
        operationIndex: operations.count,
        pointer: .root
      )
    }
    var application = PatchApplication(document, limits: limits)
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

/// Why an operation failed, and which of its members is to blame.
private struct PatchFault: Error {
  var kind: JSONPatchError.Kind
  var member = "path"
}

/// A document that operations are applied to, with a running account of its size and of the work done.
private struct PatchApplication {
  private(set) var document: JSON
  /// The exact size of the document as compact JSON.
  private var byteCount: Int
  private var work = 0
  private let limits: JSONPatchLimits

  init(_ document: JSON, limits: JSONPatchLimits) {
    self.document = document
    self.limits = limits
    byteCount = document.encodedByteCount
  }

  mutating func apply(_ operation: JSONPatch.Operation) throws(PatchFault) {
    switch operation {
    case .add(let path, let value): try add(value, at: path)
    case .remove(let path): _ = try remove(at: path)
    case .replace(let path, let value):
      _ = try resolve(path)
      try replace(at: path, with: value)
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

  /// Adds as `add` does: a member is set, an element is inserted, the root is replaced.
  private mutating func add(_ value: JSON, at path: JSONPointer) throws(PatchFault) {
    let size = try measure(value, at: path)
    guard let last = path.tokens.last else { return try replaceDocument(with: value, size: size) }
    let change = try modifyParent(of: path) { (parent) throws(JSONPointerError) -> Change in
      if var object = parent.takeObject() {
        let old = object.updateValue(value, named: last)
        parent = .object(object)
        let nameSize = JSONMeasure.byteCount(ofString: last) + 1
        return Change(old: old, grownBy: old == nil ? nameSize + (object.count > 1 ? 1 : 0) : 0, placesMoved: 0)
      }
      if var elements = parent.takeElements() {
        let index = try path.insertionIndex(count: elements.count)
        elements.insert(value, at: index)
        parent = .array(elements)
        return Change(
          old: nil,
          grownBy: elements.count > 1 ? 1 : 0,
          placesMoved: elements.count - index
        )
      }
      throw path.error(.notAContainer, at: path.tokens.count - 1)
    }
    try account(for: change, newSize: size)
  }

  @discardableResult
  private mutating func remove(at path: JSONPointer, member: String = "path") throws(PatchFault) -> JSON? {
    guard let last = path.tokens.last else { throw PatchFault(kind: .removesDocument, member: member) }
    let change = try modifyParent(of: path, member: member) { (parent) throws(JSONPointerError) -> Change in
      if var object = parent.takeObject() {
        let countBefore = object.count
        let old = object.removeValue(named: last)
        parent = .object(object)
        guard old != nil else { throw path.error(.noSuchMember, at: path.tokens.count - 1) }
        let nameSize = JSONMeasure.byteCount(ofString: last) + 1
        return Change(old: old, grownBy: -nameSize - (countBefore > 1 ? 1 : 0), placesMoved: countBefore)
      }
      if var elements = parent.takeElements() {
        let index = try path.elementIndex(at: path.tokens.count - 1, count: elements.count)
        let countBefore = elements.count
        let old = elements.remove(at: index)
        parent = .array(elements)
        return Change(old: old, grownBy: countBefore > 1 ? -1 : 0, placesMoved: countBefore - index)
      }
      throw path.error(.notAContainer, at: path.tokens.count - 1)
    }
    try account(for: change, newSize: 0)
    return change.old
  }

  /// Sets a value that exists.
  private mutating func replace(at path: JSONPointer, with value: JSON) throws(PatchFault) {
    let size = try measure(value, at: path)
    guard let last = path.tokens.last else { return try replaceDocument(with: value, size: size) }
    let change = try modifyParent(of: path) { (parent) throws(JSONPointerError) -> Change in
      if var object = parent.takeObject() {
        let old = object.updateValue(value, named: last)
        parent = .object(object)
        return Change(old: old, grownBy: 0, placesMoved: 0)
      }
      if var elements = parent.takeElements() {
        let index = try path.elementIndex(at: path.tokens.count - 1, count: elements.count)
        let old = elements[index]
        elements[index] = value
        parent = .array(elements)
        return Change(old: old, grownBy: 0, placesMoved: 0)
      }
      throw path.error(.notAContainer, at: path.tokens.count - 1)
    }
    try account(for: change, newSize: size)
  }
}

// The rest of `PatchApplication`: finding the way, and keeping the account.
extension PatchApplication {
  /// What an operation did to the parent of its target.
  private struct Change {
    /// The value that is no longer there.
    var old: JSON?
    /// By how many bytes the parent grew besides its values: a name, a colon, a comma.
    var grownBy: Int
    /// How many places of an array or object were moved up or down.
    var placesMoved: Int
  }

  /// Lets the body change the parent of what a path leads to, where it stands.
  private mutating func modifyParent(
    of path: JSONPointer,
    member: String = "path",
    _ body: (inout JSON) throws(JSONPointerError) -> Change
  ) throws(PatchFault) -> Change {
    do throws(JSONPointerError) {
      return try path.modifyParent(in: &document, from: 0, body)
    } catch {
      throw PatchFault(kind: .notFound(error), member: member)
    }
  }

  /// The size of a value that is to come where the path leads, unless it would be too deep there.
  private mutating func measure(_ value: JSON, at path: JSONPointer) throws(PatchFault) -> Int {
    let measure = JSONMeasure(of: value)
    try doWork(measure.byteCount)
    guard path.tokens.count + measure.depth <= limits.maximumDepth || measure.depth == 0 else {
      throw PatchFault(kind: .tooDeep(limit: limits.maximumDepth))
    }
    return measure.byteCount
  }

  private mutating func replaceDocument(with value: JSON, size: Int) throws(PatchFault) {
    document = value
    try resize(to: size)
  }

  private mutating func account(for change: Change, newSize: Int) throws(PatchFault) {
    let oldSize = change.old.map(\.encodedByteCount) ?? 0
    try doWork(oldSize + change.placesMoved)
    try resize(to: byteCount + newSize - oldSize + change.grownBy)
  }

  /// A document that was too large to begin with may still shrink.
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
  /// Lets the body change the parent of what the pointer leads to, where it stands. The pointer has at least
  /// one token. Recurses no deeper than the document is.
  fileprivate func modifyParent<Result>(
    in value: inout JSON,
    from position: Int,
    _ body: (inout JSON) throws(JSONPointerError) -> Result
  ) throws(JSONPointerError) -> Result {
    guard position < tokens.count - 1 else { return try body(&value) }
    // What is taken out is put back only after success: a failure ends the whole patch, and this document with it.
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

  /// Where in an array of `count` elements the last token inserts; `-` is the end.
  fileprivate func insertionIndex(count: Int) throws(JSONPointerError) -> Int {
    if tokens.last == "-" { return count }
    let position = tokens.count - 1
    guard let index = Self.index(of: tokens[position]) else { throw error(.invalidIndex, at: position) }
    guard index <= count else { throw error(.noSuchElement(count: count), at: position) }
    return index
  }
}
