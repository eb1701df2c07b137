import TestSupport
import Testing

@testable import Lockstep

@Suite("A gzipped answer has a tag of its own, and either tag does for all that tags are for")
struct GzippedTagTests {
  private static let gzip = ["Accept-Encoding: gzip"]
  private static let long = #"""# + String(repeating: "v", count: 2000) + #"""#

  /// The addresses of what is longer than 1 KiB, with what a 200 of each must vary by.
  private static let paths = ["/v1/favorites", "/v1/favorites/a", "/v1/defaults/standard", "/v1/defaults/standard/a"]

  private func filled(_ users: Users) async throws -> Device {
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

  @Test("Other bytes, another tag; who doesn't ask for gzip sees nothing of it", arguments: paths)
  func tags(path: String) async throws {
    try await Users.run { users in
      let ada = try await filled(users)
      let plain = try await ada.get(path)
      let gzipped = try await ada.get(path, Self.gzip)
      #expect(gzipped.field("Content-Encoding") == "gzip")
      let tag = try #require(plain.field("ETag"))
      #expect(Cursor(tag.dropFirst().dropLast()) != nil && !tag.hasSuffix("gz\""))
      let other = try #require(gzipped.field("ETag"))
      #expect(other != tag && other.hasSuffix("gz\"") && gzipped.values(of: "ETag").count == 1)
      // A tag is a cursor too, and this one names the same moment.
      let (cursor, same) = (Cursor(tag.dropFirst().dropLast()), Cursor(other.dropFirst().dropLast()))
      #expect(same?.revision == cursor?.revision && same?.registered == cursor?.registered)
      #expect(try await ada.get(path + "?at=\(other.dropFirst().dropLast())").body == plain.body)
    }
  }

  @Test(
    "Whichever a client has, it's told that nothing is new, by its own tag, with what a 200 varies by",
    arguments: paths
  )
  func notModified(path: String) async throws {
    try await Users.run { users in
      let ada = try await filled(users)
      let plain = try await ada.get(path)
      let gzipped = try await ada.get(path, Self.gzip)
      let (tag, other) = (try #require(plain.field("ETag")), try #require(gzipped.field("ETag")))
      for (sent, accept, shown) in [
        (tag, [], tag), (tag, Self.gzip, tag), (other, Self.gzip, other), ("W/\(other)", Self.gzip, other),
        ("\"x\", \(other)", Self.gzip, other), (other, [], tag),
      ] {
        let answer = try await ada.get(path, ["If-None-Match: \(sent)"] + accept)
        #expect(answer.status == 304, "\(sent)")
        #expect(answer.values(of: "ETag") == [shown], "\(sent) \(accept)")
        #expect(vary(answer) == vary(plain) && vary(plain) == vary(gzipped))
        #expect(vary(answer).contains("Accept-Encoding"))
      }
    }
  }

  @Test("A write is conditional on either, and on no weak one")
  func ifMatch() async throws {
    try await Users.run { users in
      let ada = try await filled(users)
      let path = "/v1/favorites/a"
      for accept in [[], Self.gzip, Self.gzip] {
        let tag = try #require(try await ada.get(path, accept).field("ETag"))
        #expect(try await ada.put(path, "{}", ["If-Match: W/\(tag)"]).status == 412)
        let body = #"{"data":\#(Self.long)}"#
        let written = try await ada.put(path, body, ["If-Match: \(tag)"] + accept)
        #expect(written.status == 200)
        // Once more the same: by the tag that the write gave.
        let next = try #require(written.field("ETag"))
        #expect(try await ada.put(path, body + " ", ["If-Match: \(next)"]).status == 200)
        #expect(try await ada.put(path, #"{"title":"t"}"#, ["If-Match: \(next)"]).status == 200)
        #expect(try await ada.put(path, body, ["If-Match: \(next)"]).status == 412)
        #expect(try await ada.put(path, body).status == 200)
      }
    }
  }

  @Test("Who waits with it is held until there is something new")
  func waiting() async throws {
    try await Users.run { users in
      let ada = try await filled(users)
      for accept in [[], Self.gzip] {
        let tag = try #require(try await ada.get("/v1/favorites", Self.gzip).field("ETag"))
        let held = try await ada.get("/v1/favorites?wait=0", ["If-None-Match: \(tag)"] + accept)
        #expect(held.status == 304)
        #expect(held.field("Preference-Applied") == "wait=0")
        #expect(try await ada.put("/v1/favorites/\(accept.count)", "{}").status == 201)
        #expect(try await ada.get("/v1/favorites?wait=0", ["If-None-Match: \(tag)"] + accept).status == 200)
      }
    }
  }
}
