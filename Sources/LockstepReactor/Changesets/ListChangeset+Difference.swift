extension ListChangeset {
  /// The difference from `old` to `new`.
  ///
  /// Takes linear time, plus n log n for the moves. Throws ``DuplicateIdentityError`` if two
  /// elements of one list have the same id.
  @inlinable
  public init(from old: [Element], to new: [Element]) throws(DuplicateIdentityError<Element.ID>) {
    let pairing = try Pairing(old, new)
    let movedNewIndices = pairing.newIndicesThatMove()

    var deletions: [Deletion] = []
    var moves: [Move] = []
    var modifications: [Modification] = []
    for (index, element) in old.enumerated() {
      let newIndex = pairing.newIndexOfOld[index]
      if newIndex == Pairing.unpaired {
        deletions.append(Deletion(index: index, id: element.id))
        continue
      }
      if movedNewIndices[newIndex] { moves.append(Move(from: index, to: newIndex, id: element.id)) }
      if new[newIndex] != element {
        modifications.append(Modification(index: index, newIndex: newIndex, element: new[newIndex]))
      }
    }
    var insertions: [Insertion] = []
    for (index, oldIndex) in pairing.oldIndexOfNew.enumerated() where oldIndex == Pairing.unpaired {
      insertions.append(Insertion(index: index, element: new[index]))
    }
    self.init(deletions: deletions, insertions: insertions, moves: moves, modifications: modifications)
  }
}

/// Pairs the elements of the old and the new list by id.
@usableFromInline
struct Pairing {
  @usableFromInline static let unpaired = -1

  @usableFromInline var newIndexOfOld: [Int]
  @usableFromInline var oldIndexOfNew: [Int]

  @inlinable
  init<Element: Identifiable & Equatable>(
    _ old: [Element],
    _ new: [Element]
  ) throws(DuplicateIdentityError<Element.ID>) where Element.ID: Sendable {
    newIndexOfOld = Array(repeating: Pairing.unpaired, count: old.count)
    oldIndexOfNew = Array(repeating: Pairing.unpaired, count: new.count)

    var oldIndices: [Element.ID: Int] = [:]
    oldIndices.reserveCapacity(old.count)
    for (index, element) in old.enumerated() {
      if let first = oldIndices.updateValue(index, forKey: element.id) {
        throw DuplicateIdentityError(id: element.id, list: .old, indices: [first, index])
      }
    }
    var insertedIndices: [Element.ID: Int] = [:]
    var expected = 0
    for (index, element) in new.enumerated() {
      // In `old`, the element after the last match is the most likely match. Comparing is cheaper
      // than hashing.
      let isExpected = expected < old.count && old[expected].id == element.id
      if let oldIndex = isExpected ? expected : oldIndices[element.id] {
        expected = oldIndex + 1
        let first = newIndexOfOld[oldIndex]
        if first != Pairing.unpaired {
          throw DuplicateIdentityError(id: element.id, list: .new, indices: [first, index])
        }
        newIndexOfOld[oldIndex] = index
        oldIndexOfNew[index] = oldIndex
      } else if let first = insertedIndices.updateValue(index, forKey: element.id) {
        throw DuplicateIdentityError(id: element.id, list: .new, indices: [first, index])
      }
    }
  }

  /// A longest common subsequence stays, and the other common elements move. No other choice has
  /// fewer moves.
  @usableFromInline
  func newIndicesThatMove() -> [Bool] {
    var doesMove = oldIndexOfNew.map { $0 != Pairing.unpaired }
    let common = oldIndexOfNew.indices.filter { doesMove[$0] }
    for position in longestIncreasingSubsequence(of: common.map { oldIndexOfNew[$0] }) {
      doesMove[common[position]] = false
    }
    return doesMove
  }
}

/// The positions of a longest strictly increasing subsequence, ascending, in n log n time.
func longestIncreasingSubsequence(of values: [Int]) -> [Int] {
  // ends[k]: the position of the smallest last value of an increasing subsequence of k + 1 values.
  var ends: [Int] = []
  var predecessors = [Int](repeating: -1, count: values.count)
  for (position, value) in values.enumerated() {
    var low = 0
    var high = ends.count
    // Most lists are nearly in order, and then the value goes to the end without a search.
    if let last = ends.last, values[last] < value { low = high }
    while low < high {
      let middle = (low + high) / 2
      if values[ends[middle]] < value { low = middle + 1 } else { high = middle }
    }
    if low > 0 { predecessors[position] = ends[low - 1] }
    if low == ends.count { ends.append(position) } else { ends[low] = position }
  }
  var chain: [Int] = []
  var position = ends.last ?? -1
  while position >= 0 {
    chain.append(position)
    position = predecessors[position]
  }
  return chain.reversed()
}

/// Two elements of one list have the same id.
public struct DuplicateIdentityError<ID: Hashable & Sendable>: Error, Hashable, CustomStringConvertible {
  /// One of the two lists of a difference.
  public enum List: String, Sendable {
    /// The list that the difference starts from.
    case old
    /// The list that it leads to.
    case new
  }

  /// The duplicate id.
  public let id: ID
  /// The list that has the id twice.
  public let list: List
  /// The first two indices of the id.
  public let indices: [Int]

  /// A duplicate.
  public init(id: ID, list: List, indices: [Int]) {
    self.id = id
    self.list = list
    self.indices = indices
  }

  /// The cause, and what to do.
  public var description: String {
    let places = indices.map(String.init).joined(separator: " and ")
    return "The \(list.rawValue) list has the id \(id) twice, at indices \(places). Give every element its own id."
  }
}
