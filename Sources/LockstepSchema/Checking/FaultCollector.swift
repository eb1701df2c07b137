import LockstepJSON

/// Collects the faults of a value with their places.
struct FaultCollector {
  /// A place in a value. Faults share the nodes of their common ancestors.
  fileprivate final class Place {
    let parent: Place?
    /// The number of the member or element.
    let number: Int
    /// Nil for an element.
    let name: String?

    init(parent: Place?, number: Int, name: String?) {
      (self.parent, self.number, self.name) = (parent, number, name)
    }
  }

  private struct Step {
    var number: Int
    var name: String?
    /// Made for the first fault inside.
    var place: Place?
  }

  fileprivate struct Entry {
    var place: Place?
    var depth: Int
    var reason: FaultReason
  }

  /// The faults of a plausible alternative of `anyOf` or `oneOf`: the value has the right type, and its
  /// members such as `kind` have the right values.
  struct Alternative {
    fileprivate let entries: [Entry]
  }

  /// The state that `end` restores.
  struct Mark {
    fileprivate let start: Int
    fileprivate let limit: Int
  }

  /// An alternative keeps fewer faults, because alternatives can be inside alternatives.
  private static let faultsOfAlternative = 20

  private var path: [Step] = []
  /// How many of the first steps have a place.
  private var placedCount = 0
  private var entries: [Entry] = []
  /// The first fault of the alternative, or 0 outside of alternatives.
  private var start = 0
  private var limit = SchemaLimit.faults

  /// Whether there is no room for more faults. Then what is checked is invalid in any case.
  var isFull: Bool { entries.count - start >= limit }

  mutating func enter(_ number: Int, _ name: String?) { path.append(Step(number: number, name: name, place: nil)) }

  mutating func leave() {
    path.removeLast()
    placedCount = min(placedCount, path.count)
  }

  mutating func add(_ reason: FaultReason) {
    guard !isFull else { return }
    entries.append(Entry(place: makePlace(), depth: path.count, reason: reason))
  }

  private mutating func makePlace() -> Place? {
    for index in placedCount..<path.count {
      let parent = index > 0 ? path[index - 1].place : nil
      path[index].place = Place(parent: parent, number: path[index].number, name: path[index].name)
    }
    placedCount = path.count
    return path.last?.place
  }
}

// MARK: - Alternatives

extension FaultCollector {
  /// Begins an alternative, whose faults are kept apart.
  mutating func begin() -> Mark {
    defer {
      start = entries.count
      limit = Self.faultsOfAlternative
    }
    return Mark(start: start, limit: limit)
  }

  /// Ends the alternative that began last, and forgets its faults. Returns them if they can help.
  mutating func end(_ mark: Mark) -> Alternative? {
    defer {
      entries.removeLast(entries.count - start)
      (start, limit) = (mark.start, mark.limit)
    }
    let isRuledOut = entries[start...].contains { $0.reason.rulesOut && $0.depth <= path.count + 1 }
    return isRuledOut ? nil : Alternative(entries: Array(entries[start...]))
  }

  mutating func add(_ alternative: Alternative) {
    for entry in alternative.entries where !isFull { entries.append(entry) }
  }
}

// MARK: - The list

extension FaultCollector {
  /// The faults in the order of their places, without repetitions.
  func list() -> [SchemaFault] {
    let sorted = entries.map { (numbers: path(of: $0.place, \.number), entry: $0) }.enumerated().sorted { left, right in
      if left.element.numbers.lexicographicallyPrecedes(right.element.numbers) { return true }
      return left.element.numbers == right.element.numbers && left.offset < right.offset
    }
    var listed: [SchemaFault] = []
    var byteCount = 0
    for (_, (_, entry)) in sorted where byteCount < SchemaLimit.faultBytes {
      let tokens = path(of: entry.place) { $0.name ?? String($0.number) }
      let fault = SchemaFault(pointer: JSONPointer(tokens: tokens).description, detail: entry.reason.detail)
      guard !listed.contains(fault) else { continue }
      byteCount += fault.pointer.utf8.count + fault.detail.utf8.count
      listed.append(fault)
    }
    return listed
  }

  /// From the root to the place.
  private func path<Part>(of place: Place?, _ part: (Place) -> Part) -> [Part] {
    var parts: [Part] = []
    var place = place
    while let current = place {
      parts.append(part(current))
      place = current.parent
    }
    return parts.reversed()
  }
}
