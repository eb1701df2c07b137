/// The difference between two versions of a list: the fewest changes that lead from one to the
/// other. Skips what the versions share.
package struct ListDifference: Sendable {
  package struct Move: Sendable {
    package let from: Int
    package let to: Int
    package let id: ElementKey
  }

  /// Removed elements, by ascending old index.
  package private(set) var deletions: [(index: Int, id: ElementKey)] = []
  /// New elements, by ascending new index.
  package private(set) var insertions: [(index: Int, item: ListItem)] = []
  /// Moved elements, by ascending old index.
  package private(set) var moves: [Move] = []
  /// Elements with other content, by ascending old index.
  package private(set) var modifications: [(index: Int, newIndex: Int, item: ListItem)] = []

  package var isEmpty: Bool { deletions.isEmpty && insertions.isEmpty && moves.isEmpty && modifications.isEmpty }

  package init(from old: ListState, to new: ListState) {
    let comparison = TreeComparison(old.elements.tree, new.elements.tree)
    let removed = TreeComparison.elements(comparison.old)
    let added = TreeComparison.elements(comparison.new)
    var blocks = comparison.shared.map {
      Block(old: $0.oldStart, new: $0.newStart, count: $0.count, unchanged: $0.count)
    }
    pair(removed, added, &blocks)
    blocks.sort { $0.new < $1.new }
    guard zip(blocks, blocks.dropFirst()).contains(where: { $0.old > $1.old }) else { return }
    for block in Self.moving(blocks) {
      for offset in 0..<block.count {
        let (from, to) = (block.old + offset, block.new + offset)
        moves.append(Move(from: from, to: to, id: new.items[to].id))
      }
    }
    moves.sort { $0.from < $1.from }
  }

  /// Elements that follow one another in both versions.
  private struct Block {
    let old: Int
    let new: Int
    let count: Int
    /// How many of the elements have the same revision in both versions.
    let unchanged: Int
  }

  /// Pairs the elements of the leaves that are not shared by their ids, and adds the pairs to
  /// `blocks`. Elements without a partner are deletions and insertions.
  private mutating func pair(_ removed: [PackedPlace], _ added: [PackedPlace], _ blocks: inout [Block]) {
    // Most elements of a changed leaf are the same as before, at the beginning and at the end.
    var start = 0
    let shorter = min(removed.count, added.count)
    while start < shorter, removed[start].hasSameName(as: added[start]) { start += 1 }
    var end = 0
    while end < shorter - start,
      removed[removed.count - 1 - end].hasSameName(as: added[added.count - 1 - end])
    { end += 1 }
    let (oldEnd, newEnd) = (removed.count - end, added.count - end)

    var places: [ElementKey: Int] = [:]
    for place in start..<newEnd { places[added[place].name] = place }
    var isPaired = [Bool](repeating: false, count: newEnd - start)
    for (offset, element) in removed.enumerated() {
      let partner: Int?
      if offset < start {
        partner = offset
      } else if offset >= oldEnd {
        partner = offset - oldEnd + newEnd
      } else {
        partner = places[element.name]
        if let partner { isPaired[partner - start] = true }
      }
      guard let partner else {
        deletions.append((element.index, element.name))
        continue
      }
      let new = added[partner]
      let isUnchanged = element.revision == new.revision
      blocks.append(Block(old: element.index, new: new.index, count: 1, unchanged: isUnchanged ? 1 : 0))
      if !new.isEqual(to: element) {
        modifications.append((element.index, new.index, ListItem(new.leaf, new.offset)))
      }
    }
    for place in start..<newEnd where !isPaired[place - start] {
      insertions.append((added[place].index, ListItem(added[place].leaf, added[place].offset)))
    }
  }

  /// The blocks that move if as many elements as possible stay: all but a heaviest increasing
  /// subsequence. If there is a choice, elements that were changed or moved are the ones that move.
  /// `blocks` are in the order of the new version.
  private static func moving(_ blocks: [Block]) -> [Block] {
    let total = blocks.reduce(1) { $0 + $1.count }
    let order = blocks.indices.sorted { blocks[$0].old < blocks[$1].old }
    var ranks = [Int](repeating: 0, count: blocks.count)
    for (rank, index) in order.enumerated() { ranks[index] = rank + 1 }
    // A Fenwick tree over the old order: for each rank, the heaviest subsequence that ends there.
    var heaviest = [(weight: Int, index: Int)](repeating: (0, -1), count: blocks.count + 1)
    var previous = [Int](repeating: -1, count: blocks.count)
    var best = (weight: 0, index: -1)
    for (index, block) in blocks.enumerated() {
      var before = (weight: 0, index: -1)
      var rank = ranks[index] - 1
      while rank > 0 {
        if heaviest[rank].weight > before.weight { before = heaviest[rank] }
        rank -= rank & -rank
      }
      previous[index] = before.index
      let ending = (weight: before.weight + block.count * total + block.unchanged, index: index)
      if ending.weight > best.weight { best = ending }
      rank = ranks[index]
      while rank < heaviest.count {
        if ending.weight > heaviest[rank].weight { heaviest[rank] = ending }
        rank += rank & -rank
      }
    }
    var stays = [Bool](repeating: false, count: blocks.count)
    var index = best.index
    while index >= 0 {
      stays[index] = true
      index = previous[index]
    }
    return blocks.indices.filter { !stays[$0] }.map { blocks[$0] }
  }
}
