import LockstepJSON
import LockstepTestSupport
import Testing

@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport

@Suite("The profile over HTTP", .timeLimit(.minutes(10)))
struct ProfileRouteTests {
  @Test("The fields of a profile can be saved separately, and are trimmed")
  func save() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      #expect(try await ada.get("/v1/profile").text == "{}")
      let first = try await ada.patch("/v1/profile", #"{"position":"  Engineer\n"}"#)
      #expect(first.status == 200)
      #expect(first.text == #"{"position":"Engineer"}"#)
      let second = try await ada.patch("/v1/profile", #"{"companyName":"Analytical \"Engines\" & Söhne"}"#)
      #expect(second.text == #"{"companyName":"Analytical \"Engines\" & Söhne","position":"Engineer"}"#)
      let read = try await ada.get("/v1/profile")
      #expect(read.body == second.body)
      #expect(read.tag == second.tag)
      #expect(try await ada.patch("/v1/profile", "{}").tag == second.tag)
    }
  }

  @Test("Every invalid field is named, and nothing is saved")
  func faults() async throws {
    let longest = String(repeating: "é", count: 200)
    let cases: [(body: String, pointers: [String])] = [
      (#"{"companyName":"","position":"   "}"#, ["/companyName", "/position"]),
      (#"{"companyName":null,"position":7}"#, ["/companyName", "/position"]),
      (#"{"companyName":"good","position":"\#(longest)é"}"#, ["/position"]),
      (#"{"companyName":"a\#(String(repeating: "\\u0301", count: 200))"}"#, ["/companyName"]),
      ("[]", [""]), ("null", [""]),
    ]
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      for (body, pointers) in cases {
        let response = try await ada.patch("/v1/profile", body)
        #expect(response.problem == ProblemSummary(slug: "validation-failed", pointers: pointers), "\(body.prefix(50))")
      }
      #expect(try await ada.get("/v1/profile").text == "{}")
      #expect(try await ada.patch("/v1/profile", #"{"position":" \#(longest) "}"#).status == 200)
    }
  }
}
