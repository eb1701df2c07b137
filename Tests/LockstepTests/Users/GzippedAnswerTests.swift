import LockstepTestSupport
import Testing

@testable import LockstepCollections

@Suite("A gzipped answer is the same state: with the same tag, which is its cursor")
struct GzippedAnswerTests {
  private static let gzip = ["Accept-Encoding: gzip"]
  private static let long = #"""# + String(repeating: "v", count: 2000) + #"""#

  /// The addresses of what is longer than 1 KiB.
  private static let paths = ["/v1/favorites", "/v1/favorites/a", "/v1/defaults/standard", "/v1/defaults/standard/a"]

  private func filled(_ users: ServerFixture) async throws -> Device {
    let ada = try await users.signUp()
    for id in ["a", "b"] {
      #expect(try await ada.put("/v1/favorites/\(id)", #"{"data":\#(Self.long)}"#).status == 201)
    }
    #expect(try await ada.put("/v1/defaults/standard/a", Self.long).status == 201)
    return ada
  }

  private func vary(_ answer: RawResponse) -> Set<String> {
    Set(answer.values(of: "Vary").joined(separator: ", ").split(separator: ", ").map(String.init))
  }

  @Test("The tag, and what an answer varies by, are the same gzipped, plain and unchanged", arguments: paths)
  func fields(path: String) async throws {
    try await ServerFixture.run { users in
      let ada = try await filled(users)
      let plain = try await ada.get(path)
      let gzipped = try await ada.get(path, Self.gzip)
      #expect(gzipped.field("Content-Encoding") == "gzip" && plain.field("Content-Encoding") == nil)
      let tag = try #require(plain.field("ETag"))
      #expect(gzipped.values(of: "ETag") == [tag])
      #expect(vary(gzipped) == vary(plain) && vary(plain).contains("Accept-Encoding"))
      for accept in [[], Self.gzip] {
        let unchanged = try await ada.get(path, ["If-None-Match: \(tag)"] + accept)
        #expect(unchanged.status == 304 && unchanged.values(of: "ETag") == [tag])
        #expect(vary(unchanged) == vary(plain))
      }
    }
  }
}
