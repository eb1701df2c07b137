import LockstepJSON
import Testing

@Suite(.timeLimit(.minutes(10))) struct MergePatchTests {
  @Test("The examples of RFC 7396, appendix A", arguments: appendix)
  func examples(_ original: JSON, _ patch: JSON, _ expected: JSON) {
    #expect(original.mergePatched(with: patch) == expected)
  }

  @Test("The example of RFC 7396, section 3")
  func exampleOfSection3() throws {
    let original: JSON = [
      "title": "Goodbye!", "author": ["givenName": "John", "familyName": "Doe"], "tags": ["example", "sample"],
      "content": "This will be unchanged",
    ]
    let patch: JSON = [
      "title": "Hello!", "phoneNumber": "+01-123-456-7890", "author": ["familyName": nil], "tags": ["example"],
    ]
    let expected =
      #"{"title":"Hello!","author":{"givenName":"John"},"tags":["example"],"content":"This will be unchanged","#
      + #""phoneNumber":"+01-123-456-7890"}"#
    #expect(original.mergePatched(with: patch).description == expected)
  }

  @Test("The original does not change")
  func valueSemantics() {
    let original: JSON = ["a": ["b": 1], "c": [1]]
    _ = original.mergePatched(with: ["a": ["b": nil], "c": nil, "d": 1])
    #expect(original == ["a": ["b": 1], "c": [1]])
  }

  @Test("Nulls in new objects are removed at any depth; nulls in arrays stay")
  func nullsInNewValues() {
    let patch: JSON = ["a": ["b": nil, "c": ["d": nil, "e": [nil, ["f": nil]]]]]
    #expect(JSON.object([:]).mergePatched(with: patch) == ["a": ["c": ["e": [nil, ["f": nil]]]]])
  }

  @Test("Removing many members takes linear time")
  func hostilePatch() {
    func document(_ count: Int) -> JSON { JSON.object(JSONObject((0..<count).map { ("name\($0)", JSON($0)) })) }
    expectLinearGrowth(from: 500, of: document) { count, document in
      let patch = JSON.object(JSONObject((1..<count).map { ("name\($0)", JSON.null) }))
      #expect(document.mergePatched(with: patch) == ["name0": 0])
    }
  }

  static let appendix: [(JSON, JSON, JSON)] = [
    (["a": "b"], ["a": "c"], ["a": "c"]),
    (["a": "b"], ["b": "c"], ["a": "b", "b": "c"]),
    (["a": "b"], ["a": nil], [:]),
    (["a": "b", "b": "c"], ["a": nil], ["b": "c"]),
    (["a": ["b"]], ["a": "c"], ["a": "c"]),
    (["a": "c"], ["a": ["b"]], ["a": ["b"]]),
    (["a": ["b": "c"]], ["a": ["b": "d", "c": nil]], ["a": ["b": "d"]]),
    (["a": [["b": "c"]]], ["a": [1]], ["a": [1]]),
    (["a", "b"], ["c", "d"], ["c", "d"]),
    (["a": "b"], ["c"], ["c"]),
    (["a": "foo"], nil, nil),
    (["a": "foo"], "bar", "bar"),
    (["e": nil], ["a": 1], ["e": nil, "a": 1]),
    ([1, 2], ["a": "b", "c": nil], ["a": "b"]),
    ([:], ["a": ["bb": ["ccc": nil]]], ["a": ["bb": [:]]]),
  ]
}
