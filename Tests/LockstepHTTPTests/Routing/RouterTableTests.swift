@testable import LockstepHTTP
import Testing

@Suite(
  "The router checks its table when it is created, and a lookup costs the same in a large table",
  .timeLimit(.minutes(10))
)
struct RouterTableTests {
  @Test(
    "An invalid table is refused, and the error names the route",
    arguments: [
      ([Route("/a"), Route("/b"), Route("/a")], "Two routes have GET /a."),
      ([Route("/{a}"), Route("/{b}")], "Two routes have GET /{b}."),
      ([Route(.put, "/a/{x}/c"), Route(.put, "/a/{y}/c")], "Two routes have PUT /a/{y}/c."),
      ([Route(.other("BREW"), "/a")], "No route can have the method BREW."),
      ([Route("a")], "The pattern a does not begin with a slash."),
      ([Route("")], "The pattern  does not begin with a slash."),
      ([Route("/{a}/{a}")], "The pattern /{a}/{a} has two parameters named a."),
      ([Route("/{}")], "The part {} of the pattern /{} is neither a literal nor a {parameter}."),
      ([Route("/a{b}")], "The part a{b} of the pattern /a{b} is neither a literal nor a {parameter}."),
      ([Route("/{a}b")], "The part {a}b of the pattern /{a}b is neither a literal nor a {parameter}."),
      ([Route("/{a")], "The part {a of the pattern /{a is neither a literal nor a {parameter}."),
      ([Route("/{")], "The part { of the pattern /{ is neither a literal nor a {parameter}."),
      ([Route("/{{a}}")], "The part {{a}} of the pattern /{{a}} is neither a literal nor a {parameter}."),
    ]
  )
  func refusals(routes: [Route], sentence: String) {
    let error = #expect(throws: Router.TableError.self) { try Router(routes) }
    #expect(error?.description == sentence)
  }

  @Test("Another method, or a slash at the end, makes another route")
  func neighbours() throws {
    let router = try Router([Route("/a"), Route(.put, "/a"), Route("/a/"), Route("/{a}")])
    #expect(router.routes.map(\.pattern) == ["/a", "/a", "/a/", "/{a}"])
  }

  @Test("Each of 1,000 routes is found, and no other path")
  func thousandRoutes() throws {
    let router = try Router((0..<1000).map { Route("/v1/resource\($0)/{id}/part\($0 % 7)") })
    for number in 0..<1000 {
      let found = try router.found("/v1/resource\(number)/x/part\(number % 7)")
      #expect(found == "/v1/resource\(number)/{id}/part\(number % 7) id=x")
      #expect(try router.found("/v1/resource\(number)/x/part\(number % 7 + 1)") == nil)
    }
    #expect(try router.found("/v1/resource1000/x/part6") == nil)
  }

  // A lookup compares the parts in one run of occupied slots, so the longest run bounds its steps.
  @Test("A lookup among many parts compares only a few of them", arguments: [1, 10, 100, 1000, 10_000])
  func steps(count: Int) throws {
    let entries = (0..<count).map { (part: Array("resource\($0)".utf8), node: $0) }
    let table = SegmentTable(entries)
    for entry in entries { #expect(entry.part.withUnsafeBytes { table.find($0) } == entry.node) }
    #expect(try longestRun(of: table) <= 24)
  }

  @Test("A table without parts finds nothing, and a part is found only by all its bytes")
  func smallTables() {
    #expect(find("a", in: []) == nil)
    #expect(find("", in: []) == nil)
    #expect(find("", in: ["a"]) == nil)
    #expect(find("", in: ["", "a"]) == 0)
    #expect(find("a", in: ["", "a"]) == 1)
    #expect(find("ab", in: ["a", "abc"]) == nil)
    #expect(find("é", in: ["e\u{301}"]) == nil)
  }

  /// The slots are private to the table, so the test reads them by reflection.
  private func longestRun(of table: SegmentTable) throws -> Int {
    let slots = try #require(Mirror(reflecting: table).children.first { $0.label == "slots" })
    var longest = 0
    var run = 0
    for slot in Mirror(reflecting: slots.value).children {
      run = Mirror(reflecting: slot.value).children.isEmpty ? 0 : run + 1
      longest = max(longest, run)
    }
    try #require(longest > 0)
    return longest
  }

  private func find(_ part: String, in parts: [String]) -> Int? {
    let table = SegmentTable(parts.enumerated().map { (Array($0.element.utf8), $0.offset) })
    return Array(part.utf8).withUnsafeBytes { table.find($0) }
  }
}
