import Lockstep
import LockstepReactor
import LockstepReactorTesting
import Testing

@testable import ShoppingList

@Suite("A shopping list", .timeLimit(.minutes(10)))
struct ShoppingReactorTests {
  private static let now = Timestamp(millisecondsSince1970: 1_000)
  private let test = TestReactor(ShoppingReactor(now: Self.now))

  private static func item(_ id: String, _ name: String, _ amount: Int = 1, isBought: Bool = false) -> ShoppingItem {
    ShoppingItem(id: id, name: name, amount: amount, isBought: isBought, addedAt: now)
  }

  @Test("What is added comes to the end, and is changed where it is")
  func adding() {
    test.send(.add(id: "a", name: "Milk", amount: nil, isBought: nil)) {
      $0.apply(.inserting(Self.item("a", "Milk"), at: 0))
    }
    test.send(.add(id: "b", name: "Bread", amount: 2, isBought: nil)) {
      $0.apply(.inserting(Self.item("b", "Bread", 2), at: 1))
    }
    // With the time at which it came first.
    test.send(.add(id: "a", name: "Oat milk", amount: 3, isBought: nil)) {
      $0.apply(.replacing(Self.item("a", "Oat milk", 3)))
    }
    test.send(.change(id: "b", name: nil, amount: nil, isBought: true)) {
      $0.apply(.replacing(Self.item("b", "Bread", 2, isBought: true)))
    }
    // Nothing changes, so nothing has happened.
    test.send(.change(id: "b", name: "Bread", amount: 2, isBought: true))
    test.finish()
  }

  @Test("What is on the list can't come on it twice, however it's written")
  func twice() {
    test.send(.add(id: "a", name: "Milk", amount: nil, isBought: nil)) {
      $0.apply(.inserting(Self.item("a", "Milk"), at: 0))
    }
    test.send(.add(id: "b", name: "MILK", amount: nil, isBought: nil))
    test.receiveFailure { $0 as? Refusal == .conflict("Milk is on the list already, as “a”.") }
    test.finish()
  }

  @Test("What was bought is cleared at once, and the rest stays in order")
  func clearing() {
    for id in ["a", "b", "c"] {
      let count = test.state.count
      test.send(.add(id: id, name: id, amount: nil, isBought: nil)) {
        $0.apply(.inserting(Self.item(id, id), at: count))
      }
    }
    for id in ["a", "c"] {
      test.send(.change(id: id, name: nil, amount: nil, isBought: true)) {
        $0.apply(.replacing(Self.item(id, id, isBought: true)))
      }
    }
    test.send(.clearBought, { $0.apply(.removed(id: "a")) }, { $0.apply(.removed(id: "c")) })
    #expect(test.state.elements(as: ShoppingItem.self).map(\.id) == ["b"])
    test.finish()
  }

  @Test(
    "What isn't there can't be changed, moved or removed",
    arguments: [
      ShoppingAction.change(id: "a", name: "Milk", amount: nil, isBought: nil), .move(id: "a", index: 0),
      .remove(id: "a"),
    ]
  )
  func missing(action: ShoppingAction) {
    test.send(action)
    test.receiveFailure { $0 as? Refusal == .notFound("There is no “a” on the list.") }
    test.finish()
  }

  @Test("Moving goes no further than the end")
  func moving() throws {
    for id in ["a", "b"] {
      let count = test.state.count
      test.send(.add(id: id, name: id, amount: nil, isBought: nil)) {
        $0.apply(.inserting(Self.item(id, id), at: count))
      }
    }
    let decision = ShoppingReactor(now: Self.now).mutate(.move(id: "a", index: 9), in: test.state)
    #expect(try decision.immediateMutations?.get() == [.moved(id: "a", to: 1)])
    test.send(.move(id: "a", index: 9)) { $0.apply(.moved(id: "a", to: 1)) }
    let again = ShoppingReactor(now: Self.now).mutate(.move(id: "a", index: 9), in: test.state)
    #expect(try again.immediateMutations?.get() == [])
    test.finish()
  }

  @Test("An element that was written is read again as it was")
  func coding() throws {
    let item = Self.item("a", "Milk", 3, isBought: true)
    let object = try #require(ShoppingItem.format.encode(item).objectValue)
    #expect(ShoppingItem(object) == item)
  }
}
