import LockstepJSON
import Testing

@testable import LockstepCollections
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport

@Suite("The module in the README", .timeLimit(.minutes(10)))
struct ReadmeModuleTests {
  @Test("It keeps the furthest page, and refuses a page before the first one")
  func furthestPage() async throws {
    try await ServerFixture.run(modules: [.progress]) { users in
      let ada = try await users.signUp()
      #expect(try await ada.put("/v1/progress/dune", "112").status == 201)
      #expect(try await ada.put("/v1/progress/dune", "87").text == "112")
      #expect(try await ada.put("/v1/progress/dune", "0").status == 422)
      #expect(try await ada.get("/v1/progress").json["values"] == ["dune": 112])
    }
  }
}
