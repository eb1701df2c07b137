@testable import LockstepHTTP
import Testing

@Suite(
  "CORS fields name the pages that may use the server, and every field that they may use",
  .timeLimit(.minutes(10))
)
struct CORSPolicyTests {
  private static let exposed =
    "ETag, Cursor, Revision, Date, Link, Location, Preference-Applied, Idempotency-Replayed, Retry-After, RateLimit, "
    + "RateLimit-Policy, WWW-Authenticate, X-Request-Id"

  struct Asked: Sendable, CustomTestStringConvertible {
    let origins: [String]
    let origin: String?
    /// The value of Access-Control-Allow-Origin, or nil if the response has none.
    let allowed: String?
    let varies: Bool
    var testDescription: String { "\(origins) from \(origin ?? "no origin")" }

    init(_ origins: [String], _ origin: String?, allowed: String?, varies: Bool) {
      self.origins = origins
      self.origin = origin
      self.allowed = allowed
      self.varies = varies
    }
  }

  private static let app = "https://app.example"
  private static let cases = [
    Asked([], app, allowed: nil, varies: false),
    Asked([], nil, allowed: nil, varies: false),
    Asked([app], app, allowed: app, varies: true),
    Asked([app], nil, allowed: nil, varies: true),
    Asked([app], "https://evil.example", allowed: nil, varies: true),
    Asked([app], "https://app.example.evil.example", allowed: nil, varies: true),
    Asked([app], "http://app.example", allowed: nil, varies: true),
    Asked([app], "https://app.example:443", allowed: nil, varies: true),
    Asked([app], "https://APP.example", allowed: nil, varies: true),
    Asked([app], "\(app), \(app)", allowed: nil, varies: true),
    Asked([app], "null", allowed: nil, varies: true),
    Asked([app], "", allowed: nil, varies: true),
    Asked([app], "*", allowed: nil, varies: true),
    Asked([app, "http://localhost:3000"], "http://localhost:3000", allowed: "http://localhost:3000", varies: true),
    Asked(["null"], "null", allowed: "null", varies: true),
    Asked(["*"], app, allowed: "*", varies: false),
    Asked(["*"], "null", allowed: "*", varies: false),
    Asked(["*"], nil, allowed: "*", varies: false),
    Asked([app, "*"], "https://other.example", allowed: "*", varies: false),
  ]

  @Test("Every response has the fields of the policy", arguments: cases)
  func fields(_ asked: Asked) throws {
    let policy = CORSPolicy(origins: asked.origins)
    let fields = policy.fields(forOrigin: asked.origin)
    #expect(policy.isOn == !asked.origins.isEmpty)
    #expect(fields[.accessControlAllowOrigin] == asked.allowed)
    #expect(fields[.accessControlExposeHeaders] == (asked.allowed == nil ? nil : Self.exposed))
    #expect(fields[.vary] == (asked.varies ? "Origin" : nil))
    #expect(fields.all.count == (asked.allowed == nil ? 0 : 2) + (asked.varies ? 1 : 0))
  }

  @Test("A preflight response has additional fields", arguments: cases)
  func preflights(_ asked: Asked) throws {
    let policy = CORSPolicy(origins: asked.origins)
    let origin = asked.origin.map { ["Origin: \($0)"] } ?? []
    let head = try head("OPTIONS /a HTTP/1.1", fields: origin + ["Access-Control-Request-Method: PUT"])
    let fields = policy.preflightFields(for: head, allow: "GET, PUT")
    #expect((fields == nil) == (asked.allowed == nil))
    guard let fields else { return }
    #expect(
      fields.all.map(\.name) == [
        "Access-Control-Allow-Methods", "Access-Control-Allow-Headers", "Access-Control-Max-Age",
      ]
    )
    #expect(fields[.accessControlAllowMethods] == "GET, PUT")
    #expect(fields[.accessControlAllowHeaders]?.contains("*") == false)
    for name in ["Authorization", "Content-Type", "If-Match", "If-None-Match", "Prefer", "Idempotency-Key"] {
      #expect(fields[.accessControlAllowHeaders]?.contains(name) == true)
    }
    #expect(fields[.accessControlMaxAge] == "7200")
  }

  @Test("Only OPTIONS with Access-Control-Request-Method is a preflight")
  func noPreflight() throws {
    let policy = CORSPolicy(origins: [Self.app])
    let asks = "Access-Control-Request-Method: PUT"
    #expect(
      policy.preflightFields(for: try head("OPTIONS / HTTP/1.1", fields: ["Origin: \(Self.app)"]), allow: "") == nil
    )
    #expect(policy.preflightFields(for: try head("OPTIONS / HTTP/1.1", fields: [asks]), allow: "") == nil)
    #expect(policy.preflightFields(for: try head(fields: ["Origin: \(Self.app)", asks]), allow: "") == nil)
  }
}
