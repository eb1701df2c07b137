import Testing

@testable import LockstepReactor

@Suite("The list with numbers", .timeLimit(.minutes(10)))
struct NumberedListTests {
  @Test("Members are in the order of their numbers, however they were added, and each is found by its number")
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
