import Glibc
import LockstepTestSupport
import Testing

@testable import LockstepHTTPClient

/// Requests to hosts that a stranger has named.
@Suite("Requests to hosts of others", .timeLimit(.minutes(10)))
struct WebhookRequestTests {
  private func kind(_ result: Result<Int, TransferError>) -> TransferError.Kind? {
    if case .failure(let failure) = result { failure.kind } else { nil }
  }

  @Test(
    "With public addresses only, no spelling of a private address is connected to",
    arguments: [
      "127.0.0.1", "localhost", "LOCALHOST", "0x7f.1", "2130706433", "0177.0.0.1", "127.1", "0", "0.0.0.0",
      "[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]", "10.0.0.1", "172.16.0.1",
      "192.168.1.1",
      "169.254.169.254", "100.64.0.1", "[fe80::1]", "[fd00::1]", "[64:ff9b::7f00:1]", "[64:ff9b:1::7f00:1]",
      "[2002:7f00:1::]", "[2001:db8::1]", "224.0.0.1", "255.255.255.255", "198.51.100.1",
    ]
  )
  func guarded(host: String) async throws {
    let server = try RawServer()
    try await HTTPClientTests.withClient {
      $0.addresses = .public
    } _: { client in
      let result = await HTTPClientTests.post(client, to: "http://\(host):\(server.port)/")
      #expect(kind(result) == .privateAddress)
      #expect("\(result)".contains(" is not a public address"))
      #expect(!server.hasClient)
    }
  }

  @Test("The error names the address")
  func address() async throws {
    try await HTTPClientTests.withClient {
      $0.addresses = .public
    } _: { client in
      #expect(
        await HTTPClientTests.post(client, to: "http://u:secret@0x7f.1:1/")
          == .failure(TransferError(.privateAddress, "127.0.0.1 is not a public address"))
      )
      #expect(
        await HTTPClientTests.post(client, to: "https://[::1]/")
          == .failure(TransferError(.privateAddress, "::1 is not a public address"))
      )
    }
  }

  @Test("With public addresses only, a proxy is not used")
  func proxies() async throws {
    // The variables of this process cannot change while other tests run, so this looks at the options.
    var configuration = HTTPClient.Configuration(userAgent: "tests/1")
    #expect(Transfers.ignoresProxies(configuration) == false)
    configuration.addresses = .public
    #expect(Transfers.ignoresProxies(configuration))
  }

  @Test("A name without an address is still an unknown name")
  func unknown() async throws {
    try await HTTPClientTests.withClient {
      $0.addresses = .public
    } _: { client in
      let url = "http://\(String(repeating: "a", count: 64)).example/"
      #expect(kind(await HTTPClientTests.post(client, to: url)) == .name)
    }
  }

  @Test("A long body is cut off, and the status counts", arguments: [200, 302, 500])
  func long(status: Int) async throws {
    let server = try RawServer()
    try await HTTPClientTests.withClient {
      $0.bounds.responseBytes = 20_000
      $0.bounds.cutsBodies = true
    } _: { client in
      async let responded: Void = aside {
        server.acceptOnce { connection in
          var bytes = [UInt8](repeating: 0, count: 65_536)
          _ = recv(connection, &bytes, bytes.count, 0)
          let head = Array("HTTP/1.1 \(status) X\r\nLocation: http://127.0.0.1:1/\r\n\r\n".utf8)
          _ = send(connection, head, head.count, Int32(MSG_NOSIGNAL))
          // Sends until the client closes the connection.
          while send(connection, bytes, bytes.count, Int32(MSG_NOSIGNAL)) > 0 {}
        }
      }
      let response = try await client.post([], type: "text/plain", to: "http://127.0.0.1:\(server.port)/")
      #expect(response.status == status && response.body.count <= 20_000)
      await responded
    }
  }

  @Test("A head that never ends is an error, also if bodies are cut off")
  func longHead() async throws {
    let server = try RawServer()
    try await HTTPClientTests.withClient {
      $0.bounds.responseBytes = 20_000
      $0.bounds.cutsBodies = true
    } _: { client in
      async let responded: Void = aside {
        server.acceptOnce { connection in
          let start = Array("HTTP/1.1 200 OK\r\n".utf8)
          _ = send(connection, start, start.count, Int32(MSG_NOSIGNAL))
          let lines = Array(String(repeating: "X: y\r\n", count: 100).utf8)
          while send(connection, lines, lines.count, Int32(MSG_NOSIGNAL)) > 0 {}
        }
      }
      let result = await HTTPClientTests.post(client, to: "http://127.0.0.1:\(server.port)/")
      #expect(kind(result) == .tooLong, "\(result)")
      await responded
    }
  }

  @Test("A response that arrives slowly times out, also after its head", arguments: ["", "HTTP/1.1 200 OK\r\n\r\n"])
  func slow(head: String) async throws {
    let server = try RawServer()
    try await HTTPClientTests.withClient {
      $0.bounds.totalTime = .milliseconds(200)
      $0.bounds.cutsBodies = true
    } _: { client in
      async let responded: Void = aside {
        server.acceptOnce { connection in
          let start = Array(head.utf8)
          _ = send(connection, start, start.count, Int32(MSG_NOSIGNAL))
          let bytes = Array("HTTP/1.1 200 OK\r\nContent-Length: 9000\r\n\r\n".utf8)
          // Sends a byte at a time until the client closes the connection.
          var place = 0
          while send(connection, [bytes[place % bytes.count]], 1, Int32(MSG_NOSIGNAL)) > 0 {
            place += 1
            usleep(20_000)
          }
        }
      }
      #expect(kind(await HTTPClientTests.post(client, to: "http://127.0.0.1:\(server.port)/")) == .timeOut)
      // On a full machine, the client may time out before it connects.
      server.stopAccepting()
      await responded
    }
  }
}
