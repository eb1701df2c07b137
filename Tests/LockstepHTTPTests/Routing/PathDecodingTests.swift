@testable import LockstepHTTP
import Testing

@Suite("A path is split first, and then each part is percent-decoded once", .timeLimit(.minutes(10)))
struct PathDecodingTests {
  private let router: Router

  init() throws {
    router = try Router([Route("/x/{id}"), Route("/literal"), Route("/a b"), Route("/{one}/{two}/{three}")])
  }

  @Test(
    "A parameter is decoded once",
    arguments: [
      ("abc", "abc"), ("a%20b", "a b"), ("a+b", "a+b"), ("%2F", "/"), ("%2f", "/"), ("a%2Fb%2Fc", "a/b/c"),
      ("%25", "%"), ("%252F", "%2F"), ("%2525", "%25"), ("%3F", "?"), ("%23", "#"), ("%2e%2e", ".."), ("..", ".."),
      (".", "."), ("%00", "\u{0}"), ("a%00b", "a\u{0}b"), ("%0d%0a", "\r\n"), ("%C3%A9", "é"), ("%c3%a9", "é"),
      ("e%CC%81", "e\u{301}"), ("%F0%9F%8C%8D", "🌍"), ("photo:1", "photo:1"), ("a;b=c,d", "a;b=c,d"), ("%7B%7D", "{}"),
    ]
  )
  func parameters(part: String, decoded: String) throws {
    guard case .route(0, let parameters) = try router.match(head("GET /x/\(part) HTTP/1.1", fields: [])) else {
      throw Unexpected(description: "not found")
    }
    #expect(parameters["id"].map { Array($0.utf8) } == Array(decoded.utf8))
    #expect(parameters["other"] == nil)
  }

  @Test("Parts before and after a decoded part keep their place")
  func severalParts() throws {
    #expect(try router.found("/%41/b%2Fc/%64e") == "/{one}/{two}/{three} one=A two=b/c three=de")
    #expect(try router.found("/a/%62/c") == "/{one}/{two}/{three} one=a two=b three=c")
  }

  @Test("A literal of a pattern is compared with the decoded part")
  func literals() throws {
    #expect(try router.found("/%6Citeral") == "/literal")
    #expect(try router.found("/a%20b") == "/a b")
    #expect(try router.found("/%256Citeral") == nil)
  }

  @Test("Dots are ordinary parts, and nothing is removed from a path")
  func dots() throws {
    #expect(try router.found("/x/../literal") == "/{one}/{two}/{three} one=x two=.. three=literal")
    #expect(try router.found("/./literal") == nil)
    #expect(try router.found("/%2e%2e/literal") == nil)
  }

  @Test(
    "A percent sign without two hexadecimal digits is refused, wherever it stands",
    arguments: ["%", "%4", "%zz", "%4g", "%g4", "%%41", "a%", "%2", "%u0041", "%+1", "%-1"]
  )
  func invalidEncoding(part: String) throws {
    for target in ["/x/\(part)", "/\(part)", "/nowhere/\(part)/at/all", "/\(part)/x"] {
      let head = try head("GET \(target) HTTP/1.1", fields: [])
      let problem = #expect(throws: Problem.self) { try router.match(head) }
      #expect(problem?.kind == .invalidParameter)
      #expect(problem?.detail.contains("two hexadecimal digits") == true)
    }
  }

  @Test(
    "A parameter that is not UTF-8 is refused",
    arguments: ["%FF", "%C3", "%C3%28", "%ED%A0%80", "%C0%AF", "%F5%80%80%80", "a%80", "%E2%82"]
  )
  func invalidText(part: String) throws {
    let head = try head("GET /x/\(part) HTTP/1.1", fields: [])
    let problem = #expect(throws: Problem.self) { try router.match(head) }
    #expect(problem?.kind == .invalidParameter)
    #expect(problem?.detail.contains("UTF-8") == true)
    #expect(try router.found("/\(part)") == nil)
  }

  @Test("A percent sign in the query does not affect the path")
  func query() throws {
    #expect(try router.found("/literal?%zz") == "/literal")
  }

  @Test("A path that consists of slashes only is not found, even if it is as long as a line may be")
  func manySlashes() throws {
    #expect(try router.found(String(repeating: "/", count: 8000)) == nil)
    #expect(try router.found("/x" + String(repeating: "/x", count: 4000)) == nil)
  }
}
