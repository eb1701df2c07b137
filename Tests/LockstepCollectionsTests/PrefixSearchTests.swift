import CAllocationCounter
import LockstepJSON
import LockstepTestSupport
import Testing

@testable import LockstepCollections
@testable import LockstepStateTestSupport

@Suite("Elements of a list by the prefix of their ids", .timeLimit(.minutes(10)))
struct PrefixSearchTests {
  private static func list(_ items: [JSON]) -> ListState {
    var list = ListState()
    for item in items {
      list.apply(.inserted(id: item["id"]?.stringValue ?? "", item: EncodedJSON(item), index: list.count))
    }
    return list
  }

  @Test("The bytes of the prefix are compared, also if an id is escaped or is not the first member")
  func matches() {
    let ids = ["a", "ab", "a\"b", "a\"", "a\\b", "é", "e\u{301}", "b", "a\",\"x", "x\"}"]
    let plain = Self.list(["a", "ab", "é", "e\u{301}", "b", "x"].map { ["id": .string($0), "x": 1] })
    let escaped = Self.list(ids.map { ["id": .string($0), "x": 1] })
    let elsewhere = Self.list(ids.map { ["x": 1, "id": .string($0)] })
    for list in [plain, escaped, elsewhere] {
      for prefix in ids + [
        "", "a\"", "e", "x\"", "b\"", "b\",\"x\":1}", "a\",\"x\":1", String(repeating: "a", count: 99),
      ] {
        let expected = list.items.map(\.id.text).filter { $0.utf8.starts(with: prefix.utf8) }
        #expect(list.items(withPrefix: prefix).map(\.id.text) == expected, "\(prefix)")
      }
    }
  }

  @Test("A search makes no string of an id")
  func allocations() {
    let name = String(repeating: "n", count: 30)
    let list = Self.list((0..<5_000).map { ["id": .string("\(name)\($0)")] })
    let before = allocated_bytes()
    #expect(list.items(withPrefix: "\(name)x").isEmpty)
    #expect(allocated_bytes() - before < 50_000)
  }
}
