import LockstepJSON

/// Hashes a value with all its levels, without recursion. Equal values have equal hashes.
///
/// `JSON.hash` leaves out deep levels, so hostile values can share one hash. Here they cannot, because
/// `Hasher` has a random seed in each process.
struct FullHash {
  /// How many steps it takes to hash one value.
  private static let stepsPerValue = 4

  private(set) var budget: StepBudget
  private var containers: [Container] = []

  init(budget: StepBudget) { self.budget = budget }

  /// Nil if the budget does not suffice.
  mutating func hash(of root: JSON) -> Int? {
    containers.removeAll(keepingCapacity: true)
    var value = root
    while true {
      guard budget.spend(Self.stepsPerValue) else { return nil }
      if let container = Container(value) {
        containers.append(container)
      } else {
        guard var hash = hash(ofLeaf: value) else { return nil }
        // A hash is complete, and perhaps those of its containers too.
        while let last = containers.indices.last {
          containers[last].add(hash)
          if containers[last].hasNext { break }
          hash = containers[last].finish()
          containers.removeLast()
        }
        if containers.isEmpty { return hash }
      }
      guard let next = takeNext() else { return nil }
      value = next
    }
  }

  private mutating func takeNext() -> JSON? {
    let last = containers.count - 1
    guard budget.spend(bytes: containers[last].nextName?.utf8.count ?? 0) else { return nil }
    return containers[last].takeNext()
  }

  private mutating func hash(ofLeaf value: JSON) -> Int? {
    if case .string(let string) = value, !budget.spend(bytes: string.utf8.count) { return nil }
    return value.hashValue
  }

  /// An array or an object that is not empty.
  private struct Container {
    private enum Children {
      case elements([JSON])
      case members([JSONObject.Member])
    }

    private let children: Children
    private let count: Int
    private var next = 0
    private var hasher = Hasher()
    /// For the hashes of members. Their order must not change the result.
    private var sum = 0

    init?(_ value: JSON) {
      switch value {
      case .array(let elements) where !elements.isEmpty: (children, count) = (.elements(elements), elements.count)
      case .object(let object) where !object.isEmpty: (children, count) = (.members(object.members), object.count)
      default: return nil
      }
      hasher.combine(count)
    }

    var hasNext: Bool { next < count }

    var nextName: String? {
      guard case .members(let members) = children else { return nil }
      return members[next].name
    }

    mutating func takeNext() -> JSON {
      defer { next += 1 }
      switch children {
      case .elements(let elements): return elements[next]
      case .members(let members): return members[next].value
      }
    }

    /// Adds the hash of the child that was taken last.
    mutating func add(_ hash: Int) {
      guard case .members(let members) = children else { return hasher.combine(hash) }
      var memberHasher = Hasher()
      members[next - 1].name.hashBytes(into: &memberHasher)
      memberHasher.combine(hash)
      sum &+= memberHasher.finalize()
    }

    func finish() -> Int {
      var hasher = hasher
      hasher.combine(sum)
      return hasher.finalize()
    }
  }
}
