@testable import LockstepHTTP
import LockstepJSON
import Testing

@Suite("A problem tells the client what went wrong and what to do", .timeLimit(.minutes(10)))
struct ProblemTests {
  /// The slugs and statuses in the documentation, and those of the server's own refusals.
  private static let kinds: [(slug: String, status: Int)] = [
    ("malformed-request", 400), ("malformed-json", 400), ("invalid-parameter", 400), ("unauthorized", 401),
    ("forbidden", 403), ("not-found", 404), ("method-not-allowed", 405), ("request-timeout", 408), ("conflict", 409),
    ("precondition-failed", 412), ("payload-too-large", 413), ("uri-too-long", 414), ("unsupported-media-type", 415),
    ("expectation-failed", 417), ("validation-failed", 422), ("too-many-requests", 429), ("headers-too-large", 431),
    ("internal", 500), ("not-implemented", 501), ("overloaded", 503), ("version-not-supported", 505),
    ("quota-exceeded", 507),
  ]

  @Test("The kinds of problems are exactly the documented ones")
  func everyKind() {
    #expect(ProblemKind.allCases.map(\.slug) == Self.kinds.map(\.slug))
    #expect(ProblemKind.allCases.map(\.status.code) == Self.kinds.map(\.status))
  }

  @Test("Each kind has a title, and an explanation that is a sentence", arguments: ProblemKind.allCases)
  func words(kind: ProblemKind) {
    #expect(!kind.title.isEmpty && !kind.title.hasSuffix("."))
    #expect(kind.explanation.utf8.count > 30 && kind.explanation.hasSuffix("."))
    #expect(
      kind.slug.utf8.allSatisfy { $0 == UInt8(ascii: "-") || ($0 >= UInt8(ascii: "a") && $0 <= UInt8(ascii: "z")) }
    )
    #expect(Problem(kind).detail == kind.explanation)
  }

  @Test("Every kind has a different title")
  func titles() {
    #expect(Set(ProblemKind.allCases.map(\.title)).count == ProblemKind.allCases.count)
  }

  @Test("The members of the document are in a readable order")
  func document() {
    let problem = Problem(.notFound, detail: "There is no \"x\".")
    #expect(
      text(of: problem)
        == #"{"type":"/problems/not-found","title":"This could not be found","status":404,"detail":"There is no \"x\"."}"#
    )
  }

  @Test("Faults and additional members follow the standard members")
  func faultsAndMembers() {
    let problem = Problem(
      .validationFailed,
      detail: "d",
      errors: [.init(pointer: "/title", detail: "too long"), .init(pointer: "", detail: "no object")],
      members: [("failed", 3), ("current", ["a": nil])]
    )
    #expect(
      text(of: problem)
        == #"{"type":"/problems/validation-failed","title":"Some of the input is not valid","status":422,"detail":"d","#
        + #""errors":[{"pointer":"/title","detail":"too long"},{"pointer":"","detail":"no object"}],"#
        + #""failed":3,"current":{"a":null}}"#
    )
  }

  @Test("An additional member never replaces a standard one")
  func reservedMembers() {
    let members: [(name: String, value: JSON)] = [
      ("type", "x"), ("title", "x"), ("status", 200), ("detail", "x"), ("errors", []), ("cursor", "c"),
    ]
    let problem = Problem(.conflict, detail: "d", errors: [.init(pointer: "", detail: "e")], members: members)
    #expect(
      text(of: problem)
        == #"{"type":"/problems/conflict","title":"This conflicts with what is already there","status":409,"detail":"d","#
        + #""errors":[{"pointer":"","detail":"e"}],"cursor":"c"}"#
    )
  }

  @Test("The response has the status, the type and the fields of the problem, and must not be stored")
  func response() {
    var problem = Problem(.methodNotAllowed)
    problem.fields.append(.allow, "GET, HEAD")
    let response = problem.response
    #expect(response.status == .methodNotAllowed)
    #expect(response.fields[.contentType] == "application/problem+json")
    #expect(response.fields[.cacheControl] == "no-store")
    #expect(response.fields[.allow] == "GET, HEAD")
    guard case .bytes(let body) = response.body else {
      Issue.record("no body")
      return
    }
    #expect(String(decoding: body, as: UTF8.self) == text(of: problem))
  }

  @Test("Text from a client stays a string in the document")
  func hostileDetail() throws {
    let detail = "\"}\u{0}\r\n\u{2028}</script>"
    let document = try JSON(parsing: Problem(.malformedRequest, detail: detail).document.encoded())
    guard case .object(let object) = document else { throw Unexpected(description: "no object") }
    #expect(object["detail"] == .string(detail))
  }

  private func text(of problem: Problem) -> String {
    String(decoding: problem.document.encoded(), as: UTF8.self)
  }
}
