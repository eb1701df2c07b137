import LockstepReactor

struct Favorite: Identifiable, Equatable, Sendable {
  let id: String
  var title: String
}

enum ChangesetBenchmark {
  private static let list = (0..<10_000).map { Favorite(id: "photo:\($0 * 7_919)", title: "Photo number \($0)") }

  static func edits() -> Spent {
    let new = edited(list)
    return measure(list, new)
  }

  static func shuffle() -> Spent {
    measure(list, list.shuffled())
  }

  static func apply() -> Spent {
    let new = edited(list)
    var applied: [Favorite]?
    do {
      let changes = try ListChangeset(from: list, to: new)
      let time = try Spent { applied = try changes.apply(to: list) }
      precondition(applied == new)
      return time
    } catch {
      preconditionFailure("\(error)")
    }
  }

  private static func measure(_ old: [Favorite], _ new: [Favorite]) -> Spent {
    var changes: ListChangeset<Favorite>?
    let time = Spent { changes = try? ListChangeset(from: old, to: new) }
    precondition(changes?.isEmpty == false)
    return time
  }

  private static func edited(_ list: [Favorite]) -> [Favorite] {
    var list = list
    for edit in 0..<100 {
      let index = Int.random(in: 0..<list.count)
      switch edit % 4 {
      case 0: list.remove(at: index)
      case 1: list.insert(Favorite(id: "new:\(edit)", title: "New"), at: index)
      case 2: list.insert(list.remove(at: index), at: Int.random(in: 0..<list.count))
      default: list[index].title += "!"
      }
    }
    return list
  }
}
