import Foundation
import LockstepClient
import LockstepTestSupport
import Testing

/// Over sockets of loopback, in real time.
@Suite("The transport of URLSession", .timeLimit(.minutes(10)))
struct TransportTests {
  private let server: RawServer
  private let transport: URLSessionTransport

  init() throws {
    server = try RawServer()
    transport = URLSessionTransport(
      try #require(URL(string: "http://127.0.0.1:\(server.port)")),
      longestResponse: 100_000
    )
  }

  private static func message(_ status: String, _ body: String, length: Int? = nil) -> String {
    "HTTP/1.1 \(status)\r\nContent-Length: \(length ?? body.utf8.count)\r\nconnection: close\r\n\r\n\(body)"
  }

  /// The response of the transport to a message of the server.
  private func response(to message: String, patience: Duration = .seconds(300)) async throws -> ClientResponse {
    async let served: Void = aside { [server] in server.respondOnce(message) }
    let response = try await transport.response(to: ClientRequest(target: "/v1/changes", patience: patience))
    await served
    return response
  }

  @Test("A response has its status, its fields and its whole body", arguments: [0, 1, 99_999, 100_000])
  func whole(size: Int) async throws {
    let body = String(repeating: "x", count: size)
    let response = try await response(to: Self.message("201 Created", body))
    #expect(response.status == 201 && response["content-length"] == "\(size)")
    #expect(response.body == Array(body.utf8))
  }

  @Test("A response that is too long is an error, whatever its fields say", arguments: [100_001, 5_000_000])
  func tooLong(size: Int) async throws {
    let body = String(repeating: "x", count: size)
    for message in [Self.message("200 OK", body), "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n\(body)"] {
      let error = await #expect(throws: ClientFailure.self) { try await response(to: message) }
      #expect(error?.description.contains("more than 100000 bytes") == true)
    }
  }

  @Test("A redirect is not followed")
  func redirect() async throws {
    let other = try RawServer(listens: false)
    let fields = "Location: http://127.0.0.1:\(other.port)/v1/changes\r\nContent-Length: 0\r\nConnection: close"
    let response = try await response(to: "HTTP/1.1 302 Found\r\n\(fields)\r\n\r\n")
    #expect(response.status == 302)
  }

  @Test("An incomplete response, or none, is an error", arguments: ["", message("200 OK", "{}", length: 10)])
  func incomplete(message: String) async {
    await #expect(throws: (any Error).self) { try await response(to: message) }
  }

  @Test("A request ends soon when its task is cancelled, before and during the response", arguments: [0, 1, 20])
  func cancelling(milliseconds: Int) async throws {
    let transport = transport
    for target in ["/v1/changes", "stream"] {
      let task = Task {
        if target != "stream" { return _ = try await transport.response(to: ClientRequest(target: target)) }
        let stream = try await transport.stream(of: ClientRequest(target: "/v1/changes"))
        for try await _ in stream.parts {}
        try Task.checkCancellation()
      }
      try await Task.sleep(for: .milliseconds(milliseconds))
      task.cancel()
      // The server never responds.
      await #expect(throws: CancellationError.self) { try await task.value }
    }
  }
}
