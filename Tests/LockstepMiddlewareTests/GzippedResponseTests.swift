import LockstepJSON
import LockstepTestSupport
import Testing

@testable import LockstepCollections
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport

@Suite("A compressed response has its own tag, which is accepted like the uncompressed one", .timeLimit(.minutes(10)))
struct GzippedResponseTests {
  private static let gzip = ["Accept-Encoding: gzip"]
  private static let long = #"""# + String(repeating: "v", count: 2000) + #"""#

  /// Paths of responses that are longer than 1 KiB.
  private static let paths = [
    "/v1/favorites", "/v1/favorites/a", "/v1/defaults/standard", "/v1/defaults/standard/a", "/v1/favorites?limit=1",
    "/v1/reactors", "/openapi.json", "/lockstep.js", "/v1/me/export",
  ]

  private func filled(_ users: ServerFixture) async throws -> Device {
    let ada = try await users.signUp()
    for id in ["a", "b"] {
      #expect(try await ada.put("/v1/favorites/\(id)", #"{"data":\#(Self.long)}"#).status == 201)
    }
    #expect(try await ada.put("/v1/defaults/standard/a", Self.long).status == 201)
    return ada
  }

  private func vary(_ response: RawResponse) -> Set<String> {
    Set(response.values(of: "Vary").joined(separator: ", ").split(separator: ", ").map(String.init))
  }

  private func coded(_ tag: String) -> String { "\(tag.dropLast())-gzip\"" }

  @Test("Compressed and uncompressed bodies have different tags, and each gets its 304", arguments: paths)
  func tags(path: String) async throws {
    try await ServerFixture.run { users in
      let ada = try await filled(users)
      let plain = try await ada.get(path)
      let gzipped = try await ada.get(path, Self.gzip)
      #expect(gzipped.field("Content-Encoding") == "gzip" && plain.field("Content-Encoding") == nil)
      let tag = try #require(plain.field("ETag"))
      #expect(gzipped.values(of: "ETag") == [coded(tag)])
      #expect(vary(gzipped) == vary(plain) && vary(plain).contains("Accept-Encoding"))
      for known in [tag, coded(tag), "W/\(coded(tag))", "\"x\", \(coded(tag))"] {
        for accept in [[], Self.gzip] {
          let unchanged = try await ada.get(path, ["If-None-Match: \(known)"] + accept)
          let expected = known == tag ? tag : coded(tag)
          #expect(unchanged.status == 304 && unchanged.values(of: "ETag") == [expected], "\(known) \(accept)")
          #expect(vary(unchanged) == vary(plain))
        }
      }
      #expect(try await ada.get(path, ["If-None-Match: \"x-gzip\""] + Self.gzip).status == 200)
    }
  }

  @Test("The tag of a compressed response is accepted wherever a tag or a cursor is")
  func accepted() async throws {
    try await ServerFixture.run { users in
      let ada = try await filled(users)
      let list = try await ada.get("/v1/favorites", Self.gzip)
      let tag = try #require(list.tag)
      #expect(tag.hasSuffix("-gzip") && list.cursor?.hasSuffix("-gzip") == false)
      let cursor = String(tag.dropLast("-gzip".count))
      for path in ["/v1/changes", "/v1/journal"] {
        let (plain, coded) = (
          try await ada.get("\(path)?since=\(cursor)").json, try await ada.get("\(path)?since=\(tag)").json
        )
        #expect(coded["reset"] == false && coded["cursor"] == plain["cursor"], "\(path)")
        #expect(coded["changesets"] == plain["changesets"] && coded["entries"] == plain["entries"])
      }
      #expect(try await ada.get("/v1/favorites?at=\(tag)").body == ada.get("/v1/favorites?at=\(cursor)").body)
      let page = try #require(try await ada.get("/v1/favorites?limit=1", Self.gzip).tag)
      #expect(try await ada.get("/v1/changes?since=\(page)").json["reset"] == false)

      let element = try #require(try await ada.get("/v1/favorites/a", Self.gzip).field("ETag"))
      #expect(element.hasSuffix("-gzip\""))
      #expect(try await ada.put("/v1/favorites/a", "{}", ["If-None-Match: \(element)"]).status == 412)
      #expect(try await ada.put("/v1/favorites/a", "{}", ["If-Match: W/\(element)"]).status == 412)
      #expect(try await ada.put("/v1/favorites/a", "{}", ["If-Match: \(element)"]).status == 200)
      #expect(try await ada.put("/v1/favorites/a", "{}", ["If-Match: \(element)"]).status == 412)
    }
  }

  @Test("A long poll with the tag of a compressed response waits")
  func waiting() async throws {
    try await ServerFixture.run { users in
      let ada = try await filled(users)
      let tag = try #require(try await ada.get("/v1/favorites", Self.gzip).field("ETag"))
      let waiter = try await ada.waiting("/v1/favorites?wait=20", ["If-None-Match: \(tag)"] + Self.gzip)
      await eventually { users.waiting == 1 }
      users.advance(by: 20.2)
      let told = try await waiter.response()
      #expect(told.status == 304 && told.field("ETag") == tag)
    }
  }
}
