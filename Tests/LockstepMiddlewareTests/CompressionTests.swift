import LockstepHTTP
import LockstepJSON
import LockstepTestSupport
import Testing

@testable import LockstepCollections
@testable import LockstepMiddleware
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport

@Suite("Long text responses are compressed for clients that accept gzip", .timeLimit(.minutes(10)))
struct CompressionTests {
  /// Accept-Encoding fields, and whether the client gets gzip.
  private static let wishes: [(accept: [String], isGzipped: Bool)] = [
    ([], false), (["Accept-Encoding: gzip"], true), (["Accept-Encoding: GZIP"], true),
    (["Accept-Encoding: deflate, gzip, br"], true), (["Accept-Encoding: gzip;q=0.5"], true),
    (["Accept-Encoding: gzip;q=0"], false), (["Accept-Encoding: gzip; q=0.000"], false),
    (["Accept-Encoding: identity"], false), (["Accept-Encoding: br"], false), (["Accept-Encoding: *"], true),
    (["Accept-Encoding: *;q=0"], false), (["Accept-Encoding: gzip;q=0, *"], false), (["Accept-Encoding:"], false),
    (["Accept-Encoding: gzip;q=0.4, identity;q=0.5"], false), (["Accept-Encoding: br", "Accept-Encoding: gzip"], true),
    (["Accept-Encoding: gzip;q=nonsense"], false),
  ]

  @Test("Accept-Encoding decides, and the decompressed bytes equal the uncompressed response", arguments: wishes)
  func negotiation(accept: [String], isGzipped: Bool) async throws {
    try await StubbedServer.run { gateway in
      let plain = try await gateway.get("/problems")
      #expect(plain.body.count > 1024)
      #expect(plain.field("Content-Encoding") == nil)
      #expect(plain.values(of: "Vary") == ["Accept-Encoding"])
      let response = try await gateway.get("/problems", accept)
      #expect(response.status == 200)
      #expect(response.values(of: "Vary") == ["Accept-Encoding"], "a cache must keep the two representations apart")
      #expect(response.field("Content-Type") == plain.field("Content-Type"))
      if isGzipped {
        #expect(response.values(of: "Content-Encoding") == ["gzip"])
        #expect(response.body.count < plain.body.count)
        #expect(try gunzipped(response.body) == plain.body)
      } else {
        #expect(response.field("Content-Encoding") == nil)
        #expect(response.body == plain.body)
      }
    }
  }

  @Test("HEAD has the fields of a compressed GET")
  func head() async throws {
    try await StubbedServer.run { gateway in
      let get = try await gateway.get("/problems", ["Accept-Encoding: gzip"])
      let head = try await gateway.ask("HEAD", "/problems", ["Accept-Encoding: gzip"])
      #expect(head.fields == get.fields)
    }
  }

  @Test("A short response is not compressed, and does not depend on Accept-Encoding")
  func short() async throws {
    try await StubbedServer.run { gateway in
      for target in ["/healthz", "/nowhere", "/"] {
        let response = try await gateway.get(target, ["Accept-Encoding: gzip"])
        #expect(response.field("Content-Encoding") == nil)
        // The index depends on Accept.
        #expect(response.values(of: "Vary") == (target == "/" ? ["Accept"] : []))
      }
    }
  }

  @Test("CORS and compression both add their fields to Vary")
  func varyTwice() async throws {
    try await StubbedServer.run({ $0.corsOrigins = ["https://app.example"] }) { gateway in
      let response = try await gateway.get("/problems", ["Accept-Encoding: gzip"])
      #expect(Set(response.values(of: "Vary")) == ["Origin", "Accept-Encoding"])
    }
  }

  /// Types and sizes of bodies, and whether they are compressed.
  private static let bodies: [(type: String, count: Int, isWorthwhile: Bool)] = [
    ("application/json", 1025, true), ("application/json", 1024, false), ("application/problem+json", 1025, true),
    ("text/plain; charset=utf-8", 1025, true), ("text/html", 1025, true), ("image/png", 100_000, false),
    ("application/octet-stream", 100_000, false), ("application/gzip", 100_000, false),
  ]

  @Test("Only long bodies of compressible types are compressed", arguments: bodies)
  func worthwhile(type: String, count: Int, isWorthwhile: Bool) {
    var fields = HeaderFields()
    fields.append(.contentType, type)
    let response = Response(status: .ok, fields: fields, body: .bytes([UInt8](repeating: 0x61, count: count)))
    #expect(Compression.applies(to: response) == isWorthwhile)
    var encoded = response
    encoded.fields.append(.contentEncoding, "br")
    #expect(!Compression.applies(to: encoded))
    #expect(!Compression.applies(to: Response(status: .ok, fields: fields)))
    #expect(!Compression.applies(to: Response(status: .ok, body: response.body)))
  }

  private static let slice = 64 * 1024

  @Test(
    "Data of any length is the same after compression and decompression",
    arguments: [0, 1, 1025, slice - 1, slice, slice + 1, 2 * slice, 3 * slice + 12_345],
    [1, 8]
  )
  func roundTrip(count: Int, bits: UInt64) async throws {
    // With one random bit in each byte the data shrinks a lot. With eight it does not shrink, so
    // zlib's output is longer than its input.
    var state: UInt64 = 42
    let bytes = (0..<count).map { _ -> UInt8 in
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return UInt8(truncatingIfNeeded: state >> 33 & ((1 << bits) - 1))
    }
    let gzipped = try #require(await Compression.gzip(BodyPieces([bytes])))
    #expect(try gunzipped(gzipped) == bytes)
    #expect(await Compression.gzip(BodyPieces([bytes])) == gzipped, "the same bytes give the same output")
  }
}
