import Lockstep
import LockstepReactorTesting
import Testing

@testable import ShoppingScreens

@Suite("The items to buy", .timeLimit(.minutes(10)))
struct ItemsToBuyTests {
  @Test("The screen shows a change of another device")
  func follows() throws {
    let clock = VirtualClock()
    let ada = InMemoryUser([.list(Shopping())], clock: clock)
    try ada.change("shopping", "add", ["id": "milk", "name": "Milk"])
    let test = TestReactor(ItemsToBuy(user: ada.screenUser), clock: clock)
    #expect(test.state.names == ["Milk"])
    try ada.change("shopping", "add", ["id": "bread", "name": "Bread", "index": 0])
    test.receive { $0.names = ["Bread", "Milk"] }
    try ada.change("shopping", "update", ["id": "milk", "isBought": true])
    test.receive { $0.names = ["Bread"] }
    test.finish()
  }
}
