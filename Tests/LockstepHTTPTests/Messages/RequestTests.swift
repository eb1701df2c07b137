import LockstepHTTP
import Testing

@Suite("Requests as handlers see them", .timeLimit(.minutes(10)))
struct RequestTests {
  @Test("A complete body is returned unchanged")
  func body() async throws {
    #expect(try await RequestBody.bytes([1, 2]).collect() == [1, 2])
    #expect(try await RequestBody.bytes([]).collect() == [])
  }

  @Test("An incomplete body is read from its source, and a problem of the source reaches the handler")
  func source() async throws {
    #expect(try await RequestBody.source(Source(result: .success([3]))).collect() == [3])
    let error = await #expect(throws: Problem.self) {
      try await RequestBody.source(Source(result: .failure(Problem(.payloadTooLarge)))).collect()
    }
    #expect(error?.kind == .payloadTooLarge)
  }

  @Test(
    "The address of a client is written so that its port can be recognized",
    arguments: [("127.0.0.1", "127.0.0.1:80"), ("::1", "[::1]:80"), ("fe80::1%eth0", "[fe80::1%eth0]:80")]
  )
  func address(host: String, text: String) {
    #expect(PeerAddress(host: host, port: 80).description == text)
  }

  private final class Source: BodySource {
    private let result: Result<[UInt8], Problem>

    init(result: Result<[UInt8], Problem>) { self.result = result }

    func collect(upTo limit: Int) async throws -> [UInt8] { try result.get() }
  }
}
