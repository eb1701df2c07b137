import LockstepReactor
import Testing

@testable import LockstepReactorTesting

@Suite("Readable differences", .timeLimit(.minutes(10)))
struct DescriptionTests {
  private struct Inner: Equatable {
    var number = 1
    var text: String?
  }
  private enum Kind: Equatable { case plain, labelled(name: String) }
  private struct Outer: Equatable {
    var inner = Inner()
    var list = [Inner(), Inner(number: 2)]
    var map = ["b": 1, "a": 2]
    var set: Set = [3, 1, 2]
    var kind = Kind.plain
    var empty: [Int] = []
    @Pulse var alert: String?
  }

  @Test("A value is described by paths and leaves, always in the same order")
  func paths() {
    #expect(
      describe(Outer()).map { "\($0.path): \($0.leaf)" } == [
        "inner.number: 1", "inner.text: nil", "list[0].number: 1", "list[0].text: nil", "list[1].number: 2",
        "list[1].text: nil", #"map["a"]: 2"#, #"map["b"]: 1"#, "set: {1, 2, 3}", "kind: plain", "empty: []",
        "alert.value: nil", "alert.count: 0", "alert.fired: 0",
      ]
    )
    #expect(describe(3).map { "\($0.path): \($0.leaf)" } == ["state: 3"])
  }

  @Test("Only differences are shown")
  func differences() {
    var actual = Outer()
    actual.inner.text = "new"
    actual.kind = .labelled(name: "x")
    actual.list.append(Inner(number: 3))
    actual.alert = nil
    #expect(
      difference(expected: Outer(), actual: actual) == """
            − inner.text: nil
            + inner.text: "new"
            − kind: plain
            + kind: labelled(name: "x")
            − alert.count: 0
            + alert.count: 1
            + list[2].number: 3
            + list[2].text: nil
        """
    )
  }

  @Test("If two unequal values have the same description, the text says so")
  func sameReading() {
    #expect(difference(expected: 1, actual: 1) == "    (the values are unequal, but print the same)")
  }
}
