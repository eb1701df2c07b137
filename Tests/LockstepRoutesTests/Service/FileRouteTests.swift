import Foundation
import LockstepHTTP
import LockstepTestSupport
import Testing

@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport

@Suite("The server serves the JavaScript client and its types", .timeLimit(.minutes(10)))
struct FileRouteTests {
  private static let folder = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .appendingPathComponent("web")

  private static let files: [(ending: String, type: String)] = [
    ("js", "text/javascript; charset=utf-8"), ("d.ts", "text/plain; charset=utf-8"),
  ]
  private static let gzip = ["Accept-Encoding: gzip"]

  @Test("The bytes are those of the file, with a type that browsers do not guess", arguments: files)
  func contents(ending: String, type: String) async throws {
    let bytes = try Array(Data(contentsOf: Self.folder.appendingPathComponent("lockstep.\(ending)")))
    try await StubbedServer.run { gateway in
      for (path, caching) in [
        ("/lockstep.\(ending)", "no-cache"),
        ("/lockstep-\(lockstepVersion).\(ending)", "public, max-age=31536000, immutable"),
      ] {
        let response = try await gateway.get(path)
        #expect(response.status == 200)
        #expect(response.body == bytes)
        #expect(response.field("Content-Type") == type)
        #expect(response.field("X-Content-Type-Options") == "nosniff")
        #expect(response.values(of: "Cache-Control") == [caching])
      }
    }
  }

  @Test("Each form has its tag, and the tag gets a 304", arguments: files)
  func tags(ending: String, type: String) async throws {
    try await StubbedServer.run { gateway in
      let path = "/lockstep.\(ending)"
      let plain = try await gateway.get(path)
      let tag = try #require(plain.field("ETag"))
      let coded = "\(tag.dropLast())-gzip\""
      // The second response is made of the bytes that the first one compressed.
      for _ in 0..<2 {
        let gzipped = try await gateway.get(path, Self.gzip)
        #expect(gzipped.values(of: "Content-Encoding") == ["gzip"])
        #expect(gzipped.values(of: "ETag") == [coded])
        #expect(gzipped.values(of: "Vary") == ["Accept-Encoding"])
        #expect(gzipped.values(of: "Content-Type") == [type])
        #expect(try gunzipped(gzipped.body) == plain.body)
      }
      #expect(plain.values(of: "Vary") == ["Accept-Encoding"])
      for known in [tag, coded] {
        let unmodified = try await gateway.get(path, ["If-None-Match: \(known)"])
        #expect(unmodified.status == 304)
        #expect(unmodified.field("ETag") == known)
        #expect(unmodified.field("Cache-Control") == "no-cache")
        #expect(unmodified.body.isEmpty)
      }
      #expect(try await gateway.get(path, ["If-None-Match: \"other\""]).status == 200)
    }
  }

  @Test("Pages of allowed origins may import the client")
  func origins() async throws {
    try await StubbedServer.run({ $0.corsOrigins = ["https://app.example"] }) { gateway in
      let origin = ["Origin: https://app.example"]
      for fields in [origin, origin + Self.gzip] {
        let response = try await gateway.get("/lockstep.js", fields)
        #expect(response.field("Access-Control-Allow-Origin") == "https://app.example")
        #expect(Set(response.values(of: "Vary")) == ["Origin", "Accept-Encoding"])
      }
      let other = try await gateway.get("/lockstep.js", ["Origin: https://other.example"])
      #expect(other.field("Access-Control-Allow-Origin") == nil)
    }
  }

  @Test(
    "The path of another version is unknown",
    arguments: ["/lockstep-0.0.0.js", "/lockstep-.js", "/lockstep-\(lockstepVersion)", "/lockstep.ts", "/lockstep"]
  )
  func otherVersion(path: String) async throws {
    try await StubbedServer.run { gateway in
      let response = try await gateway.get(path)
      #expect(response.status == 404)
    }
  }
}
