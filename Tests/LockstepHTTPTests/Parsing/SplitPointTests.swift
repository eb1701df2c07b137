import LockstepHTTP
import Testing

@Suite("The result does not depend on how the network splits the bytes", .timeLimit(.minutes(10)))
struct SplitPointTests {
  /// Limits so small that the table can exceed each one. `ByteStream` depends on these numbers.
  private static let limits = {
    var limits = Limits()
    limits.requestLine = 40
    limits.headerSection = 60
    limits.headerFields = 3
    limits.chunkLine = 20
    return limits
  }()

  @Test("Single bytes give the same result as the whole", arguments: ByteStream.all)
  func byteByByte(_ stream: ByteStream) {
    for limits in [Limits(), Self.limits] {
      #expect(conversation(stream.bytes.map { [$0] }, limits: limits) == conversation([stream.bytes], limits: limits))
    }
  }

  @Test("A split at any place gives the same result as the whole", arguments: ByteStream.all)
  func everyCut(_ stream: ByteStream) {
    for limits in [Limits(), Self.limits] {
      let whole = conversation([stream.bytes], limits: limits)
      for cut in 0...stream.bytes.count {
        let parts = [Array(stream.bytes[..<cut]), Array(stream.bytes[cut...])]
        #expect(conversation(parts, limits: limits) == whole, "cut at \(cut)")
      }
    }
  }

  @Test(
    "Splits at any two places give the same result as the whole",
    arguments: ByteStream.all.filter { $0.bytes.count < 50 }
  )
  func everyPairOfCuts(_ stream: ByteStream) {
    let whole = conversation([stream.bytes])
    for first in 0...stream.bytes.count {
      for second in first...stream.bytes.count {
        let parts = [stream.bytes[..<first], stream.bytes[first..<second], stream.bytes[second...]].map(Array.init)
        #expect(conversation(parts) == whole, "cuts at \(first) and \(second)")
      }
    }
  }

  @Test("Removing empty lines as they arrive, as a connection does, gives the same result", arguments: ByteStream.all)
  func emptyLinesTaken(_ stream: ByteStream) {
    for limits in [Limits(), Self.limits] {
      let whole = conversation([Array("\r\n\r\n".utf8) + stream.bytes], limits: limits).filter {
        !$0.hasPrefix("waits")
      }
      let pieces = (Array("\r\n\r\n".utf8) + stream.bytes).map { [$0] }
      // Only the number of bytes that a head took or waits with may differ.
      let taken = conversation(pieces, limits: limits, takesEmptyLines: true).filter { !$0.hasPrefix("waits") }
      #expect(taken.map(Self.withoutCount) == whole.map(Self.withoutCount))
    }
  }

  private static func withoutCount(_ line: String) -> String {
    guard let range = line.firstRange(of: " bytes: "), line[..<range.lowerBound].allSatisfy(\.isNumber) else {
      return line
    }
    return String(line[range.upperBound...])
  }

  @Test("The unsplit streams of the table have the expected results")
  func transcripts() {
    #expect(
      conversation([
        Array("GET /1?q HTTP/1.1\r\nHost: h\r\n\r\nPUT /2 HTTP/1.0\r\nContent-Length: 2\r\n\r\nab\r\nG".utf8)
      ])
        == [
          "30 bytes: GET | path | path /1 | query q | 1.1 | body none | keep | sends | Host=h",
          "38 bytes: PUT | path | path /2 | query  | 1.0 | body length(2) | close | sends | Content-Length=2",
          "body: ab",
          "waits for a head with 3 bytes",
        ]
    )
  }
}
