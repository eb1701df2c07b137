import Lockstep
import LockstepReactorTesting
import Testing

@testable import ShoppingScreens

@Suite("The form of the shopping list", .timeLimit(.minutes(10)))
struct ShoppingFormTests {
  /// A form of a user whose changes take two seconds, in virtual time.
  private struct World {
    let clock = VirtualClock()
    let ada: InMemoryUser
    let test: TestReactor<ShoppingForm>

    init(id: String = "new") throws {
      ada = InMemoryUser([.list(Shopping())], clock: clock, delay: .seconds(2))
      try ada.change("shopping", "add", ["id": "milk", "name": "Milk", "amount": 2])
      test = TestReactor(ShoppingForm(id: id, user: ada.screenUser, clock: clock), clock: clock)
    }

    /// Types a name that is checked and found valid.
    func type(_ name: String) {
      test.send(.setName(name)) { state in
        state.name = name
        state.validatedName = .validating
      }
      test.advance(by: .milliseconds(300))
      test.receive { $0.validatedName = .ok }
    }
  }

  @Test("A name is checked 300 ms after the last key, and one that is on the list is refused")
  func names() throws {
    let world = try World()
    world.test.send(.setName("Mil")) { state in
      state.name = "Mil"
      state.validatedName = .validating
    }
    world.test.advance(by: .milliseconds(299))
    world.test.send(.setName(" MILK ")) { $0.name = " MILK " }
    world.test.advance(by: .milliseconds(299))
    world.test.advance(by: .milliseconds(1))
    world.test.receive { $0.validatedName = .failed(message: "This is on the list already.") }
    world.test.send(.setName(" ")) { state in
      state.name = " "
      state.validatedName = .empty(message: "Enter a name.")
    }
    world.test.finish()
  }

  @Test("An amount is a number from 1 to 999", arguments: [("", false), ("0", false), (" 12 ", true), ("1000", false)])
  func amounts(text: String, isValid: Bool) throws {
    let world = try World()
    world.type("Bread")
    world.test.send(.setAmount(text)) { $0.amount = text }
    #expect(world.test.state.saveEnabled == isValid)
    if !isValid {
      world.test.send(.save)
      world.test.receiveFailure("a conflict") { if case .conflict? = $0 as? Refusal { true } else { false } }
    }
    world.test.finish()
  }

  @Test("A save takes its time, adds the item, and leads to the item's form")
  func saves() throws {
    let world = try World()
    world.type(" Bread ")
    world.test.send(.save) { $0.isSaving = true }
    world.test.advance(by: .seconds(1))
    #expect(!world.test.state.saveEnabled)
    world.test.advance(by: .seconds(1))
    world.test.receive { state in
      state.isSaving = false
      state.route = ScreenLink("shoppingForm", ["id": "new"])
    }
    #expect(world.ada.performed.map(\.type) == ["add"])
    #expect(world.ada.performed[0].payload == ["id": "new", "name": "Bread", "amount": 1])
    world.test.finish()
  }

  @Test("The form of an item begins with its values, and changes it")
  func changes() throws {
    let world = try World(id: "milk")
    #expect(world.test.state.name == "Milk" && world.test.state.amount == "2" && world.test.state.saveEnabled)
    world.test.send(.setAmount("3")) { $0.amount = "3" }
    world.test.send(.save) { $0.isSaving = true }
    world.test.advance(by: .seconds(2))
    world.test.receive { state in
      state.isSaving = false
      state.route = ScreenLink("shoppingForm", ["id": "milk"])
    }
    #expect(world.ada.performed.map(\.type) == ["update"])
    world.test.finish()
  }

  @Test(
    "If another device adds the name during a save, the form shows the error, and a second failure is a second event"
  )
  func fails() throws {
    let world = try World()
    world.type("Bread")
    world.test.send(.save) { $0.isSaving = true }
    try world.ada.change("shopping", "add", ["id": "other", "name": "bread"])
    world.test.advance(by: .seconds(2))
    world.test.receive { state in
      state.isSaving = false
      state.error = "“bread” is already on the list, with the id “other”."
    }
    world.test.send(.save) { state in
      state.isSaving = true
      state.error = nil
    }
    world.test.advance(by: .seconds(2))
    world.test.receive { state in
      state.isSaving = false
      state.error = "“bread” is already on the list, with the id “other”."
    }
    let error = ShoppingForm.State.format.encode(world.test.state).objectValue?["error"]
    #expect(error == ["id": 2, "message": "“bread” is already on the list, with the id “other”."])
    world.test.finish()
  }
}
