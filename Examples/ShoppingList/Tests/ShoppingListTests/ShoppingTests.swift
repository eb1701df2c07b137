import Lockstep
import LockstepReactorTesting
import Testing

@testable import ShoppingList

@Suite("A shopping list", .timeLimit(.minutes(10)))
struct ShoppingTests {
  private let milk = ShoppingItem(id: "a", name: "Milk", isBought: true)
  private let bread = ShoppingItem(id: "b", name: "Bread")

  @Test("A name can be on the list only once, in capitals or not")
  func twice() throws {
    let list = List([milk, bread])
    let second = ShoppingItem(id: "c", name: "MILK")
    #expect(throws: Refusal.conflict("“Milk” is already on the list, with the id “a”.")) {
      try Shopping().decide(.edit(.insert(second, at: 2)), list)
    }
    #expect(throws: Refusal.self) { try Shopping().decide(.edit(.replace(ShoppingItem(id: "b", name: "milk"))), list) }
    let renamed = ShoppingItem(id: "a", name: "MILK")
    #expect(try Shopping().decide(.edit(.replace(renamed)), list) == [.replace(renamed)])
  }

  @Test("clearBought removes all bought items, and the others stay in order")
  func clearing() throws {
    var list = List([milk, bread, ShoppingItem(id: "c", name: "Tea", isBought: true)])
    #expect(try Shopping().perform(.clearBought, on: &list) == [.remove(id: "a"), .remove(id: "c")])
    #expect(list == List([bread]))
  }

  @Test("The server checks the members, and stores each of them in one form")
  func members() throws {
    let ada = InMemoryUser([.list(Shopping())])
    try ada.change(
      "shopping",
      "add",
      ["id": "a", "name": "Milk", "price": "1.50", "due": "2026-12-01T11:00:00+01:00"]
    )
    let item = try #require(ada.screenUser.state.list(Shopping.self)["a"])
    #expect(item.amount == 1 && item.price == DecimalNumber("1.5") && item.due == Timestamp("2026-12-01T10:00:00Z"))
    let faults = [
      FieldFault(pointer: "/name", detail: "It must have 1 to 200 bytes, and has 0."),
      FieldFault(pointer: "/amount", detail: "It must be a whole number from 1 to 999."),
      FieldFault(
        pointer: "/due",
        detail: "It must be a time from 1970 to 9999 in RFC 3339, such as 2026-12-01T10:00:00Z or "
          + "2026-12-01T11:00:00.250+01:00."
      ),
    ]
    #expect(throws: StateChangeError.refused(.invalid(faults))) {
      try ada.change("shopping", "add", ["id": "b", "name": "", "amount": 0, "due": "tomorrow"])
    }
  }
}
