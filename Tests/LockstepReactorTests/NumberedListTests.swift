import Testing

@testable import LockstepReactor

@Suite("A list by numbers", .timeLimit(.minutes(10)))
struct NumberedListTests {
  @Test("members are in the order of their numbers, in whatever order they came, and each is found by its own")
  func order() {
    var list = NumberedList<String>()
    for (number, member) in [(1, "b"), (4, "e"), (0, "a"), (3, "d"), (2, "c")] { list.insert(member, number: number) }
    #expect(Array(list.members) == ["a", "b", "c", "d", "e"])
    #expect(list.remove(number: 3) == "d")
    #expect(list.remove(number: 3) == nil)
    #expect(list.remove(number: 9) == nil)
    #expect(Array(list.members) == ["a", "b", "c", "e"])
    #expect(list.count == 4)
  }
}
