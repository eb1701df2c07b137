@testable import LockstepHTTP
import Testing

@Suite("Lists in header fields may have quoted strings", .timeLimit(.minutes(10)))
struct PreferenceTests {
  private static let preferences: [(value: String, names: [String], values: [String])] = [
    ("wait=5", ["wait"], ["5"]),
    (#"wait="5""#, ["wait"], ["5"]),
    ("Wait = 5 ; a=b, respond-async", ["wait", "respond-async"], ["5", ""]),
    (#"foo="a, wait=1", wait=0"#, ["foo", "wait"], ["a, wait=1", "0"]),
    (#"foo="a; b=c";d, wait=0"#, ["foo", "wait"], ["a; b=c", "0"]),
    (#"foo="a\", wait=1", wait=0"#, ["foo", "wait"], [#"a", wait=1"#, "0"]),
    (#"foo="\\", wait=0"#, ["foo", "wait"], [#"\"#, "0"]),
    (#"foo="a, wait=1"#, ["foo"], [#""a, wait=1"#]),
    (#"foo="=", wait=0"#, ["foo", "wait"], ["=", "0"]),
    ("", [], []),
    (",;,=", ["", ""], ["", ""]),
  ]

  @Test("A preference in a quoted string is text (RFC 7240)", arguments: preferences)
  func quoted(value: String, names: [String], values: [String]) throws {
    let found = try head(fields: ["Prefer: \(value)"]).preferences
    #expect(found.map(\.name) == names)
    #expect(found.map(\.value) == values)
  }

  @Test("A quality value or a comma in a quoted parameter is text")
  func types() throws {
    for value in [#"text/html;x="a;q=0""#, #"text/html;x="a, application/json", application/json;q=0.5"#] {
      #expect(try head(fields: ["Accept: \(value)"]).wantsPage, "\(value)")
    }
    #expect(try !head(fields: [#"Accept: x/y;z="a, text/html""#]).wantsPage)
  }

  @Test("A connection option in a quoted string does not close the connection")
  func connection() throws {
    #expect(try head(fields: [#"Connection: "a, close, b""#]).keepsAlive)
    #expect(try !head(fields: [#"Connection: "a", close"#]).keepsAlive)
  }
}
