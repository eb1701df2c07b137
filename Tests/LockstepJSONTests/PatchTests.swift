import LockstepJSON
import Testing

/// Parses both and applies the patch.
func apply(_ patch: String, to document: String, limits: JSONPatchLimits = .standard) throws -> JSON {
  try JSONPatch(parsing: JSON(parsing: patch), limits: limits).applied(to: JSON(parsing: document), limits: limits)
}

@Suite(.timeLimit(.minutes(10))) struct PatchTests {
  struct Example: CustomTestStringConvertible {
    var name: String
    var document: String
    var patch: String
    var expected: String
    var testDescription: String { name }
  }

  @Test("Patches apply, including the examples of RFC 6902, appendix A", arguments: appendix + more)
  func succeeds(_ example: Example) throws {
    #expect(try apply(example.patch, to: example.document) == JSON(parsing: example.expected))
  }

  struct Failure: CustomTestStringConvertible {
    var name: String
    var document: String
    var patch: String
    var place: String
    var description: String
    var isFailedTest = false
    var testDescription: String { name }
  }

  @Test("A failed patch names the operation and the reason, and whether a test failed", arguments: failures)
  func fails(_ failure: Failure) throws {
    let error = #expect(throws: JSONPatchError.self) { try apply(failure.patch, to: failure.document) }
    #expect(error?.description == failure.description)
    #expect(error?.pointer.description == failure.place)
    #expect(error?.isFailedTest == failure.isFailedTest)
  }

  @Test("A failure changes nothing")
  func allOrNothing() throws {
    let document: JSON = ["a": [1, ["b": 2]], "c": 3]
    let patch = JSONPatch([
      .remove(try JSONPointer(parsing: "/a/0")), .add(try JSONPointer(parsing: "/a/0/b"), "new"),
      .replace(.root, 5), .test(.root, 6),
    ])
    let error = #expect(throws: JSONPatchError.self) { try patch.applied(to: document) }
    #expect(error?.operationIndex == 3)
    #expect(document == ["a": [1, ["b": 2]], "c": 3])
  }

  @Test("A malformed patch throws all faults with their pointers")
  func formFaults() throws {
    let text = """
      [
        {"op":"add","path":"a","value":1},
        {"op":"jump","path":"/a"},
        {"op":"move","path":"/a"},
        {"path":3},
        7,
        {"op":"test","path":"/a"},
        {"op":"copy","from":"/~","path":null},
        {"op":"remove","path":"/fine"}
      ]
      """
    let error = #expect(throws: JSONPatchFormatError.self) { try JSONPatch(parsing: JSON(parsing: text)) }
    #expect(
      error?.description == """
        /0/path: A JSON Pointer is empty or begins with a slash, unlike "a".
        /1/op: The operation must be add, remove, replace, move, copy or test.
        /2/from: The operation needs "from", a string.
        /3/op: The operation needs "op", a string.
        /3/path: This must be a string, not a number.
        /4: An operation must be an object, not a number.
        /5/value: The operation needs "value", which may be null.
        /6/path: This must be a string, not null.
        /6/from: In a JSON Pointer "~" must be followed by 0 or 1, unlike in "/~".
        """
    )
  }

  @Test("A document that is not an array is not a patch")
  func noArray() {
    let error = #expect(throws: JSONPatchFormatError.self) { try JSONPatch(parsing: ["op": "add"]) }
    #expect(error?.faults.map(\.detail) == ["A JSON Patch must be an array of operations, not an object."])
    #expect(error?.faults.first?.pointer == .root)
  }

  @Test("At most a hundred faults are reported")
  func manyFaults() {
    let patch = JSON.array(Array(repeating: .null, count: 5_000))
    let error = #expect(throws: JSONPatchFormatError.self) { try JSONPatch(parsing: patch) }
    #expect(error?.faults.count == JSONPatchFormatError.maximumFaults)
  }

  static let appendix: [Example] = [
    Example(
      name: "A.1 Adding an object member",
      document: #"{"foo":"bar"}"#,
      patch: #"[{"op":"add","path":"/baz","value":"qux"}]"#,
      expected: #"{"baz":"qux","foo":"bar"}"#
    ),
    Example(
      name: "A.2 Adding an array element",
      document: #"{"foo":["bar","baz"]}"#,
      patch: #"[{"op":"add","path":"/foo/1","value":"qux"}]"#,
      expected: #"{"foo":["bar","qux","baz"]}"#
    ),
    Example(
      name: "A.3 Removing an object member",
      document: #"{"baz":"qux","foo":"bar"}"#,
      patch: #"[{"op":"remove","path":"/baz"}]"#,
      expected: #"{"foo":"bar"}"#
    ),
    Example(
      name: "A.4 Removing an array element",
      document: #"{"foo":["bar","qux","baz"]}"#,
      patch: #"[{"op":"remove","path":"/foo/1"}]"#,
      expected: #"{"foo":["bar","baz"]}"#
    ),
    Example(
      name: "A.5 Replacing a value",
      document: #"{"baz":"qux","foo":"bar"}"#,
      patch: #"[{"op":"replace","path":"/baz","value":"boo"}]"#,
      expected: #"{"baz":"boo","foo":"bar"}"#
    ),
    Example(
      name: "A.6 Moving a value",
      document: #"{"foo":{"bar":"baz","waldo":"fred"},"qux":{"corge":"grault"}}"#,
      patch: #"[{"op":"move","from":"/foo/waldo","path":"/qux/thud"}]"#,
      expected: #"{"foo":{"bar":"baz"},"qux":{"corge":"grault","thud":"fred"}}"#
    ),
    Example(
      name: "A.7 Moving an array element",
      document: #"{"foo":["all","grass","cows","eat"]}"#,
      patch: #"[{"op":"move","from":"/foo/1","path":"/foo/3"}]"#,
      expected: #"{"foo":["all","cows","eat","grass"]}"#
    ),
    Example(
      name: "A.8 Testing a value: success",
      document: #"{"baz":"qux","foo":["a",2,"c"]}"#,
      patch: #"[{"op":"test","path":"/baz","value":"qux"},{"op":"test","path":"/foo/1","value":2}]"#,
      expected: #"{"baz":"qux","foo":["a",2,"c"]}"#
    ),
    Example(
      name: "A.10 Adding a nested member object",
      document: #"{"foo":"bar"}"#,
      patch: #"[{"op":"add","path":"/child","value":{"grandchild":{}}}]"#,
      expected: #"{"foo":"bar","child":{"grandchild":{}}}"#
    ),
    Example(
      name: "A.11 Ignoring unrecognized elements",
      document: #"{"foo":"bar"}"#,
      patch: #"[{"op":"add","path":"/baz","value":"qux","xyz":123}]"#,
      expected: #"{"foo":"bar","baz":"qux"}"#
    ),
    Example(
      name: "A.14 ~ escape ordering",
      document: #"{"/":9,"~1":10}"#,
      patch: #"[{"op":"test","path":"/~01","value":10}]"#,
      expected: #"{"/":9,"~1":10}"#
    ),
    Example(
      name: "A.16 Adding an array value",
      document: #"{"foo":["bar"]}"#,
      patch: #"[{"op":"add","path":"/foo/-","value":["abc","def"]}]"#,
      expected: #"{"foo":["bar",["abc","def"]]}"#
    ),
  ]

  static let more: [Example] = [
    Example(name: "An empty patch changes nothing", document: "[1]", patch: "[]", expected: "[1]"),
    Example(
      name: "Adding at the index after the last appends",
      document: "[1]",
      patch: #"[{"op":"add","path":"/1","value":2}]"#,
      expected: "[1,2]"
    ),
    Example(
      name: "Adding at the root replaces the document",
      document: #"{"a":1}"#,
      patch: #"[{"op":"add","path":"","value":[]}]"#,
      expected: "[]"
    ),
    Example(
      name: "Adding replaces a member that exists",
      document: #"{"a":1,"b":2}"#,
      patch: #"[{"op":"add","path":"/a","value":null}]"#,
      expected: #"{"a":null,"b":2}"#
    ),
    Example(
      name: "Replacing the root",
      document: "1",
      patch: #"[{"op":"replace","path":"","value":{"a":2}}]"#,
      expected: #"{"a":2}"#
    ),
    Example(
      name: "Copying is deep and by value",
      document: #"{"a":{"b":[1]}}"#,
      patch: #"[{"op":"copy","from":"/a","path":"/c"},{"op":"add","path":"/a/b/-","value":2}]"#,
      expected: #"{"a":{"b":[1,2]},"c":{"b":[1]}}"#
    ),
    Example(
      name: "Copying the whole document into itself",
      document: #"{"a":1}"#,
      patch: #"[{"op":"copy","from":"","path":"/b"}]"#,
      expected: #"{"a":1,"b":{"a":1}}"#
    ),
    Example(
      name: "Moving to where it is changes nothing",
      document: #"{"a":1}"#,
      patch: #"[{"op":"move","from":"/a","path":"/a"}]"#,
      expected: #"{"a":1}"#
    ),
    Example(
      name: "Moving the root to the root changes nothing",
      document: #"{"a":1}"#,
      patch: #"[{"op":"move","from":"","path":""}]"#,
      expected: #"{"a":1}"#
    ),
    Example(
      name: "Moving a part to the root",
      document: #"{"a":[1]}"#,
      patch: #"[{"op":"move","from":"/a","path":""}]"#,
      expected: "[1]"
    ),
    Example(
      name: "Moving to the end of its own array",
      document: "[1,2,3]",
      patch: #"[{"op":"move","from":"/0","path":"/-"}]"#,
      expected: "[2,3,1]"
    ),
    Example(
      name: "Moving to a name that begins alike",
      document: #"{"a":1}"#,
      patch: #"[{"op":"move","from":"/a","path":"/ab"}]"#,
      expected: #"{"ab":1}"#
    ),
    Example(
      name: "A test compares numbers by value and objects without order",
      document: #"{"a":1,"b":{"x":1,"y":2}}"#,
      patch: #"[{"op":"test","path":"/a","value":1.0},{"op":"test","path":"/b","value":{"y":2,"x":1e0}}]"#,
      expected: #"{"a":1,"b":{"x":1,"y":2}}"#
    ),
    Example(
      name: "Of a repeated op the last wins (A.13)",
      document: #"{"baz":1}"#,
      patch: #"[{"op":"add","path":"/baz","value":"qux","op":"remove"}]"#,
      expected: "{}"
    ),
    Example(
      name: "The empty name is a name",
      document: "{}",
      patch: #"[{"op":"add","path":"/","value":1}]"#,
      expected: #"{"":1}"#
    ),
  ]

  static let failures: [Failure] = [
    Failure(
      name: "A.9 Testing a value: error",
      document: #"{"baz":"qux"}"#,
      patch: #"[{"op":"test","path":"/baz","value":"bar"}]"#,
      place: "/0/path",
      description: "Operation 0: The value is not the one that the test requires.",
      isFailedTest: true
    ),
    Failure(
      name: "A.12 Adding to a nonexistent target",
      document: #"{"foo":"bar"}"#,
      patch: #"[{"op":"add","path":"/baz/bat","value":"qux"}]"#,
      place: "/0/path",
      description: "Operation 0: /baz does not exist: the object has no such member."
    ),
    Failure(
      name: "A.15 Comparing strings and numbers",
      document: #"{"/":9,"~1":10}"#,
      patch: #"[{"op":"test","path":"/~01","value":"10"}]"#,
      place: "/0/path",
      description: "Operation 0: The value is not the one that the test requires.",
      isFailedTest: true
    ),
    Failure(
      name: "A test of a missing value fails as a test",
      document: "{}",
      patch: #"[{"op":"test","path":"/a/b","value":null}]"#,
      place: "/0/path",
      description: "Operation 0: The value is not the one that the test requires.",
      isFailedTest: true
    ),
    Failure(
      name: "The error contains the index of the operation",
      document: "[1]",
      patch: #"[{"op":"remove","path":"/0"},{"op":"remove","path":"/0"}]"#,
      place: "/1/path",
      description: "Operation 1: /0 does not exist: the array has 0 elements."
    ),
    Failure(
      name: "Removing a missing value",
      document: "{}",
      patch: #"[{"op":"remove","path":"/a"}]"#,
      place: "/0/path",
      description: "Operation 0: /a does not exist: the object has no such member."
    ),
    Failure(
      name: "Replacing a missing value",
      document: "{}",
      patch: #"[{"op":"replace","path":"/a","value":1}]"#,
      place: "/0/path",
      description: "Operation 0: /a does not exist: the object has no such member."
    ),
    Failure(
      name: "Removing the element after the last",
      document: "[1]",
      patch: #"[{"op":"remove","path":"/-"}]"#,
      place: "/0/path",
      description: "Operation 0: /- does not exist: an array needs an index (0, 1, 2, …)."
    ),
    Failure(
      name: "Adding beyond the end",
      document: "[1]",
      patch: #"[{"op":"add","path":"/2","value":1}]"#,
      place: "/0/path",
      description: "Operation 0: /2 does not exist: the array has 1 element."
    ),
    Failure(
      name: "Adding at an index with a leading zero",
      document: "[1]",
      patch: #"[{"op":"add","path":"/00","value":1}]"#,
      place: "/0/path",
      description: "Operation 0: /00 does not exist: an array needs an index (0, 1, 2, …)."
    ),
    Failure(
      name: "Adding to a string",
      document: #"{"a":"b"}"#,
      patch: #"[{"op":"add","path":"/a/0","value":1}]"#,
      place: "/0/path",
      description: "Operation 0: /a/0 does not exist: its parent is neither an array nor an object."
    ),
    Failure(
      name: "Moving a missing value",
      document: "{}",
      patch: #"[{"op":"move","from":"/a","path":"/b"}]"#,
      place: "/0/from",
      description: "Operation 0: /a does not exist: the object has no such member."
    ),
    Failure(
      name: "Moving to a missing parent",
      document: #"{"a":1}"#,
      patch: #"[{"op":"move","from":"/a","path":"/b/c"}]"#,
      place: "/0/path",
      description: "Operation 0: /b does not exist: the object has no such member."
    ),
    Failure(
      name: "Moving into its own child",
      document: #"{"a":{"b":1}}"#,
      patch: #"[{"op":"move","from":"/a","path":"/a/c"}]"#,
      place: "/0/path",
      description: "Operation 0: A value cannot be moved into itself."
    ),
    Failure(
      name: "Moving the root into itself",
      document: #"{"a":1}"#,
      patch: #"[{"op":"move","from":"","path":"/b"}]"#,
      place: "/0/path",
      description: "Operation 0: A value cannot be moved into itself."
    ),
    Failure(
      name: "Removing the document",
      document: "1",
      patch: #"[{"op":"remove","path":""}]"#,
      place: "/0/path",
      description: "Operation 0: The whole document cannot be removed; replace it instead."
    ),
  ]
}
