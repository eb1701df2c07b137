/// The difference between two lists of identified elements, as a table view's batch update.
///
/// `deletions`, `moves.from` and `modifications.index` are indices in the *old* list. `insertions`,
/// `moves.to` and `modifications.newIndex` are indices in the *new* list. Moves are the fewest
/// possible. An element that moved and changed is in both `moves` and `modifications`. An element
/// that only shifted because of others is in neither.
public struct ListChangeset<Element: Identifiable & Equatable & Sendable>: Sendable, Equatable
where Element.ID: Sendable {
  /// An element that is in the old list only.
  public struct Deletion: Sendable, Equatable {
    /// Its index in the old list.
    public let index: Int
    /// Its id.
    public let id: Element.ID

    /// A deletion.
    @inlinable
    public init(index: Int, id: Element.ID) {
      self.index = index
      self.id = id
    }
  }

  /// An element that is in the new list only.
  public struct Insertion: Sendable, Equatable {
    /// Where it is in the new list.
    public let index: Int
    /// The element.
    public let element: Element

    /// An insertion.
    @inlinable
    public init(index: Int, element: Element) {
      self.index = index
      self.element = element
    }
  }

  /// An element that changed its place among those that are in both lists.
  public struct Move: Sendable, Equatable {
    /// Where it was in the old list.
    public let from: Int
    /// Where it is in the new list.
    public let to: Int
    /// The id of the element.
    public let id: Element.ID

    /// A move.
    @inlinable
    public init(from: Int, to: Int, id: Element.ID) {
      self.from = from
      self.to = to
      self.id = id
    }
  }

  /// An element with the same id and different content.
  public struct Modification: Sendable, Equatable {
    /// Where it was in the old list.
    public let index: Int
    /// Where it is in the new list.
    public let newIndex: Int
    /// Its new content.
    public let element: Element

    /// A modification.
    @inlinable
    public init(index: Int, newIndex: Int, element: Element) {
      self.index = index
      self.newIndex = newIndex
      self.element = element
    }
  }

  /// Removed elements, by ascending old index.
  public var deletions: [Deletion]
  /// New elements, by ascending new index.
  public var insertions: [Insertion]
  /// Moved elements, by ascending old index: the fewest that explain the new order.
  public var moves: [Move]
  /// Changed elements, by ascending old index.
  public var modifications: [Modification]

  /// Makes a changeset, for example a received one. `apply` checks whether it fits a list.
  @inlinable
  public init(
    deletions: [Deletion] = [],
    insertions: [Insertion] = [],
    moves: [Move] = [],
    modifications: [Modification] = []
  ) {
    self.deletions = deletions
    self.insertions = insertions
    self.moves = moves
    self.modifications = modifications
  }

  /// Whether the changeset has no changes.
  public var isEmpty: Bool {
    deletions.isEmpty && insertions.isEmpty && moves.isEmpty && modifications.isEmpty
  }
}

extension ListChangeset {
  /// Applies this changeset to `old`.
  ///
  /// Removes the deleted and the moved elements, then puts in the inserted and the moved ones in
  /// ascending order of their new indices, then replaces the modified ones. Throws
  /// ``ChangesetMismatchError``, and never traps, if the changeset does not fit the list: every
  /// index and id must match, and no id may be in the result twice.
  @inlinable
  public func apply(to old: [Element]) throws(ChangesetMismatchError) -> [Element] {
    let kept = try removingSources(from: old)
    try checkThatInsertionsAreNew(to: kept)
    var new = try puttingIn(kept)
    var previous = -1
    for modification in modifications {
      let (index, newIndex, element) = (modification.index, modification.newIndex, modification.element)
      // The indices must ascend, so that no element is modified twice.
      guard index > previous, old.indices.contains(index), old[index].id == element.id,
        new.indices.contains(newIndex), new[newIndex].id == element.id
      else { throw ChangesetMismatchError(part: .modification, index: index) }
      new[newIndex] = element
      previous = index
    }
    return new
  }

  /// Combines this changeset and `next` into the smallest changeset from `base` to the last list.
  ///
  /// Needs the base to find elements that were changed back, and the fewest moves.
  public func followed(
    by next: ListChangeset,
    from base: [Element]
  ) throws -> ListChangeset {
    try ListChangeset(from: base, to: next.apply(to: apply(to: base)))
  }

  @inlinable
  func removingSources(from old: [Element]) throws(ChangesetMismatchError) -> [Element] {
    var isRemoved = [Bool](repeating: false, count: old.count)
    for deletion in deletions {
      guard old.indices.contains(deletion.index), old[deletion.index].id == deletion.id,
        !isRemoved[deletion.index]
      else { throw ChangesetMismatchError(part: .deletion, index: deletion.index) }
      isRemoved[deletion.index] = true
    }
    for move in moves {
      guard old.indices.contains(move.from), old[move.from].id == move.id, !isRemoved[move.from]
      else { throw ChangesetMismatchError(part: .move, index: move.from) }
      isRemoved[move.from] = true
    }
    return old.indices.compactMap { isRemoved[$0] ? nil : old[$0] }
      + moves.map { old[$0.from] }
  }

  @inlinable
  func checkThatInsertionsAreNew(to kept: [Element]) throws(ChangesetMismatchError) {
    if insertions.isEmpty { return }
    var indices: [Element.ID: Int] = [:]
    for insertion in insertions where indices.updateValue(insertion.index, forKey: insertion.element.id) != nil {
      throw ChangesetMismatchError(part: .insertion, index: insertion.index)
    }
    for element in kept {
      if let index = indices[element.id] { throw ChangesetMismatchError(part: .insertion, index: index) }
    }
  }

  /// `kept` contains the elements that stay, then those that move, in the order of `moves`.
  @inlinable
  func puttingIn(_ kept: [Element]) throws(ChangesetMismatchError) -> [Element] {
    let stayingCount = kept.count - moves.count
    var arrivals = insertions.map {
      (index: $0.index, element: $0.element, part: ChangesetMismatchError.Part.insertion)
    }
    for (offset, move) in moves.enumerated() {
      arrivals.append((move.to, kept[stayingCount + offset], .move))
    }
    arrivals.sort { $0.index < $1.index }
    var new: [Element] = []
    new.reserveCapacity(stayingCount + arrivals.count)
    var staying = 0
    for arrival in arrivals {
      while new.count < arrival.index, staying < stayingCount {
        new.append(kept[staying])
        staying += 1
      }
      guard new.count == arrival.index else { throw ChangesetMismatchError(part: arrival.part, index: arrival.index) }
      new.append(arrival.element)
    }
    new.append(contentsOf: kept[staying..<stayingCount])
    return new
  }
}

/// A changeset was applied to a list that it was not made for.
public struct ChangesetMismatchError: Error, Hashable, CustomStringConvertible {
  /// The part of a changeset that does not fit.
  public enum Part: String, Sendable {
    /// A deletion.
    case deletion
    /// An insertion.
    case insertion
    /// A move.
    case move
    /// A modification.
    case modification
  }

  /// The part that does not fit.
  public let part: Part
  /// Its index. For a modification it is the old index, for a move the index that does not fit.
  public let index: Int

  /// A mismatch.
  public init(part: Part, index: Int) {
    self.part = part
    self.index = index
  }

  /// The cause, and what to do.
  public var description: String {
    "The \(part.rawValue) at index \(index) does not fit the list. "
      + "The changeset belongs to another state: load the whole list again."
  }
}
