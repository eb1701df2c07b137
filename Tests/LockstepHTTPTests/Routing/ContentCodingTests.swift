@testable import LockstepHTTP
import Testing

@Suite("A body is compressed if the client accepts it", .timeLimit(.minutes(10)))
struct ContentCodingTests {
  @Test(
    "gzip is chosen if the client prefers it",
    arguments: [
      "gzip", "GZIP", "x-gzip", "gzip, deflate, br", "br, gzip", "deflate,gzip;q=0.5", "gzip;q=1", "gzip;q=1.0",
      "gzip;q=1.",
      "gzip;q=1.000", "gzip;q=0.001", "gzip ; q=0.5", "gzip;\tQ=0.5", "*", "*;q=0.1", "br;q=1, *;q=0.5",
      "gzip, identity",
      "gzip;q=0.5, identity;q=0.5", "gzip;q=0.5, *;q=0", "identity;q=0, gzip;q=0.1", "gzip, identity;q=0.9",
      ",, gzip ,",
      "*;q=0.5, gzip;q=0.5", "*;q=0.5, gzip;q=0.1, identity;q=0", "identity;q=0, *",
    ]
  )
  func gzip(value: String) throws {
    #expect(try ContentCoding.preferred(by: head(fields: ["Accept-Encoding: \(value)"])) == .gzip)
  }

  @Test(
    "The body is not compressed",
    arguments: [
      "", ",", "identity", "br", "deflate", "gzip;q=0", "gzip;q=0.0", "gzip;q=0.000", "gzip; q=0", "gzip;q=0, *",
      "*;q=0",
      "identity, gzip;q=0.9", "gzip;q=0.5, identity;q=0.6", "gzipped", "gzi", "\"gzip\"", "*;q=0, identity",
      "*;q=0.5, gzip;q=0.1", "gzip q=1",
    ]
  )
  func identity(value: String) throws {
    #expect(try ContentCoding.preferred(by: head(fields: ["Accept-Encoding: \(value)"])) == .identity)
  }

  @Test(
    "An invalid weight counts as no weight",
    arguments: [
      "q=", "q=.5", "q=2", "q=-1", "q=1.1", "q=1.001", "q=1.5", "q=0.1234", "q=1.0000", "q=0,5", "q=a", "q=0.a",
      "q=0.5.5",
      "q=00", "q=01", "q=+1", "q =1", "q= 1", "q=1 1", "q=\u{661}", "level=9", "q=1;x", "x;q=1", "q",
    ]
  )
  func malformedWeight(weight: String) throws {
    #expect(try ContentCoding.preferred(by: head(fields: ["Accept-Encoding: gzip;\(weight)"])) == .identity)
  }

  @Test("A client without Accept-Encoding gets an uncompressed body")
  func noField() throws {
    #expect(try ContentCoding.preferred(by: head(fields: [])) == .identity)
  }

  @Test("Several Accept-Encoding fields form one list")
  func severalFields() throws {
    let fields = ["Accept-Encoding: br", "accept-encoding: identity;q=0.2, gzip;q=0.3"]
    #expect(try ContentCoding.preferred(by: head(fields: fields)) == .gzip)
  }
}
