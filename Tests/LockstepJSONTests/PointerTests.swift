import LockstepJSON
import Testing

@Suite(.timeLimit(.minutes(10))) struct PointerTests {
  static let document: JSON = [
    "foo": ["bar", "baz"], "": 0, "a/b": 1, "c%d": 2, "e^f": 3, "g|h": 4, #"i\j"#: 5, #"k"l"#: 6, " ": 7, "m~n": 8,
  ]

  @Test("The examples of RFC 6901, section 5", arguments: examplesOfSection5)
  func examples(_ text: String, _ expected: JSON) throws {
    let pointer = try JSONPointer(parsing: text)
    #expect(try pointer.resolve(in: Self.document) == expected)
    #expect(pointer.description == text)
  }

  @Test("Tokens are unescaped once and escaped again")
  func tokens() throws {
    #expect(try JSONPointer(parsing: "/~01/~10/a//").tokens == ["~1", "/0", "a", "", ""])
    #expect(JSONPointer(tokens: ["~1", "/0", "a", "", ""]).description == "/~01/~10/a//")
    #expect(JSONPointer.root.appending("items").appending(3).description == "/items/3")
  }

  @Test(
    "Text that is not a pointer is rejected with a reason",
    arguments: [
      ("foo", #"A JSON Pointer is empty or begins with a slash, unlike "foo"."#),
      ("/a~", #"In a JSON Pointer "~" must be followed by 0 or 1, unlike in "/a~"."#),
      ("/~2", #"In a JSON Pointer "~" must be followed by 0 or 1, unlike in "/~2"."#),
      ("/~~0", #"In a JSON Pointer "~" must be followed by 0 or 1, unlike in "/~~0"."#),
    ]
  )
  func noPointers(_ text: String, _ description: String) {
    let error = #expect(throws: JSONPointerError.self) { try JSONPointer(parsing: text) }
    #expect(error?.description == description)
  }

  @Test(
    "A pointer without a value names the missing token",
    arguments: [
      ("/nope/x", "/nope does not exist: the object has no such member."),
      ("/foo/2", "/foo/2 does not exist: the array has 2 elements."),
      ("/foo/99999999999999999999", "/foo/99999999999999999999 does not exist: the array has 2 elements."),
      ("/foo/-", "/foo/- does not exist: an array needs an index (0, 1, 2, …)."),
      ("/foo/00", "/foo/00 does not exist: an array needs an index (0, 1, 2, …)."),
      ("/foo/+1", "/foo/+1 does not exist: an array needs an index (0, 1, 2, …)."),
      ("/foo/-1", "/foo/-1 does not exist: an array needs an index (0, 1, 2, …)."),
      ("/foo/", "/foo/ does not exist: an array needs an index (0, 1, 2, …)."),
      ("/a~1b/c/d", "/a~1b/c does not exist: its parent is neither an array nor an object."),
    ]
  )
  func leadsNowhere(_ text: String, _ description: String) throws {
    let pointer = try JSONPointer(parsing: text)
    let error = #expect(throws: JSONPointerError.self) { try pointer.resolve(in: Self.document) }
    #expect(error?.description == description)
  }

  @Test("Pointers compare by bytes")
  func comparing() throws {
    #expect(JSONPointer(tokens: ["\u{E9}"]) != JSONPointer(tokens: ["e\u{301}"]))
    #expect(Set([JSONPointer(tokens: ["a"]), try JSONPointer(parsing: "/a")]).count == 1)
    #expect(try JSONPointer(parsing: "/a").isProperPrefix(of: JSONPointer(parsing: "/a/b")))
    #expect(try !JSONPointer(parsing: "/a").isProperPrefix(of: JSONPointer(parsing: "/a")))
    #expect(try !JSONPointer(parsing: "/a").isProperPrefix(of: JSONPointer(parsing: "/ab/c")))
  }

  static let examplesOfSection5: [(String, JSON)] = [
    ("", document), ("/foo", ["bar", "baz"]), ("/foo/0", "bar"), ("/", 0), ("/a~1b", 1), ("/c%d", 2), ("/e^f", 3),
    ("/g|h", 4), (#"/i\j"#, 5), (#"/k"l"#, 6), ("/ ", 7), ("/m~0n", 8),
  ]
}
