import Lockstep
import Testing

@testable import ShoppingList

@Suite("A shopping list", .timeLimit(.minutes(10)), .timeLimit(.minutes(10)))
struct ShoppingReactorTests {
  private static let now = Timestamp(millisecondsSince1970: 1_000)
  private let reactor = ShoppingReactor(now: Self.now)

  private static func item(_ id: String, _ name: String, _ amount: Int = 1, isBought: Bool = false) -> ShoppingItem {
    ShoppingItem(id: id, name: name, amount: amount, isBought: isBought, addedAt: now)
  }

  /// A list with one item for each id. The id is also the item's name.
  private func list(_ ids: String...) throws -> ListState {
    var list = ListState()
    for id in ids { _ = try reactor.perform(.add(id: id, name: id, amount: nil, isBought: nil, index: nil), on: &list) }
    return list
  }

  @Test("A new item is added at the index or at the end, and a changed one stays in place")
  func adding() throws {
    var list = ListState()
    let milk = try reactor.perform(.add(id: "a", name: "Milk", amount: nil, isBought: nil, index: nil), on: &list)
    #expect(milk == [.inserting(Self.item("a", "Milk"), at: 0)])
    let bread = try reactor.perform(.add(id: "b", name: "Bread", amount: 2, isBought: nil, index: nil), on: &list)
    #expect(bread == [.inserting(Self.item("b", "Bread", 2), at: 1)])
    let tea = try reactor.perform(.add(id: "c", name: "Tea", amount: nil, isBought: nil, index: 0), on: &list)
    #expect(tea == [.inserting(Self.item("c", "Tea"), at: 0)])
    let salt = try reactor.perform(.add(id: "d", name: "Salt", amount: nil, isBought: nil, index: 9), on: &list)
    #expect(salt == [.inserting(Self.item("d", "Salt"), at: 3)])
    let oat = try ShoppingReactor(now: Timestamp(millisecondsSince1970: 5_000))
      .perform(.add(id: "a", name: "Oat milk", amount: 3, isBought: nil, index: 0), on: &list)
    #expect(
      oat == [.replacing(Self.item("a", "Oat milk", 3))],
      "It keeps its place and the time at which it was added."
    )
    let bought = try reactor.perform(.update(id: "b", name: nil, amount: nil, isBought: true), on: &list)
    #expect(bought == [.replacing(Self.item("b", "Bread", 2, isBought: true))])
    #expect(try reactor.mutate(.update(id: "b", name: "Bread", amount: 2, isBought: true), in: list) == [])
  }

  @Test("A name can be on the list only once, in capitals or not")
  func twice() throws {
    var list = ListState()
    _ = try reactor.perform(.add(id: "a", name: "Milk", amount: nil, isBought: nil, index: nil), on: &list)
    #expect(throws: Refusal.conflict("“Milk” is already on the list, with the id “a”.")) {
      try reactor.mutate(.add(id: "b", name: "MILK", amount: nil, isBought: nil, index: nil), in: list)
    }
  }

  @Test("clearBought removes all bought items, and the others stay in order")
  func clearing() throws {
    var list = try list("a", "b", "c")
    for id in ["a", "c"] {
      _ = try reactor.perform(.update(id: id, name: nil, amount: nil, isBought: true), on: &list)
    }
    #expect(try reactor.perform(.clearBought, on: &list) == [.removed(id: "a"), .removed(id: "c")])
    #expect(list.elements(as: ShoppingItem.self).map(\.id) == ["b"])
  }

  @Test(
    "A missing item cannot be changed, moved or removed",
    arguments: [
      ShoppingAction.update(id: "a", name: "Milk", amount: nil, isBought: nil), .move(id: "a", index: 0),
      .remove(id: "a"),
    ]
  )
  func missing(action: ShoppingAction) {
    #expect(throws: Refusal.notFound("No item has the id “a”.")) {
      try reactor.mutate(action, in: ListState())
    }
  }

  @Test("A move past the end is a move to the end")
  func moving() throws {
    var list = try list("a", "b")
    #expect(try reactor.perform(.move(id: "a", index: 9), on: &list) == [.moved(id: "a", to: 1)])
    #expect(try reactor.mutate(.move(id: "a", index: 9), in: list) == [])
  }

  @Test("An item is the same after it was written and read")
  func coding() throws {
    let item = Self.item("a", "Milk", 3, isBought: true)
    let object = try #require(ShoppingItem.format.encode(item).objectValue)
    #expect(ShoppingItem(object) == item)
  }
}
