import Glibc
import LockstepTestSupport
import Testing

@testable import LockstepHTTPClient

@Suite(
  "TLS",
  .enabled(if: access("/usr/bin/openssl", X_OK) == 0, "certificates need openssl"),
  .timeLimit(.minutes(10))
)
struct EncryptionTests {
  @Test("A trusted certificate with the right name is accepted")
  func trusted() async throws {
    try await run(name: "IP:127.0.0.1", trusts: true) { result, arrived in
      #expect(result == .success(204))
      await eventually { arrived().contains(#"{"x":1}"#) }
      #expect(arrived().contains("POST /hook HTTP/1.1"))
    }
  }

  @Test(
    "An untrusted certificate or another name ends the transfer before the request",
    arguments: [("IP:127.0.0.1", false), ("DNS:other", true)]
  )
  func strangers(name: String, trusts: Bool) async throws {
    try await run(name: name, trusts: trusts) { result, arrived in
      #expect { try result.get() } throws: { ($0 as? TransferError)?.kind == .encryption }
      #expect(!arrived().contains("POST"))
    }
  }

  @Test("There is no fallback to an unencrypted connection")
  func plain() async throws {
    let server = try RawServer()
    try await HTTPClientTests.withClient { client in
      async let responded: Void = aside { server.respondOnce("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") }
      let result = await HTTPClientTests.post(client, to: "https://127.0.0.1:\(server.port)/")
      #expect { try result.get() } throws: { ($0 as? TransferError)?.kind == .encryption }
      await responded
    }
  }

  /// Posts to a server with a new certificate. Passes the result and the bytes that the server has
  /// received to `body`.
  private func run(
    name: String,
    trusts: Bool,
    _ body: (Result<Int, TransferError>, () -> String) async throws -> Void
  ) async throws {
    let folder = try TemporaryDirectory()
    _ = try await ChildProcess.run([
      "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
      "-subj", "/CN=test", "-addext", "subjectAltName=\(name)", "-keyout", folder.file("key.pem"),
      "-out", folder.file("certificate.pem"),
    ])
    var ends: [Int32] = [-1, -1]
    try #require(pipe(&ends) == 0)
    defer { for end in ends { close(end) } }
    // openssl's server responds with the text that it reads, and it reads once a client is
    // connected.
    let response = Array("HTTP/1.1 204 No Content\r\n\r\n".utf8)
    try #require(write(ends[1], response, response.count) == response.count)
    let server = try ChildProcess.spawn(
      [
        "/bin/sh", "-c", "exec \"$0\" \"$@\" <&9 >'\(folder.file("out"))' 2>&1", "openssl", "s_server", "-accept",
        "127.0.0.1:0", "-naccept", "1", "-cert", folder.file("certificate.pem"), "-key", folder.file("key.pem"),
      ],
      ["PATH=/usr/bin:/bin"],
      passing: ends[0]
    )
    defer {
      kill(server, SIGKILL)
      waitpid(server, nil, 0)
    }
    let output = { String(decoding: (try? folder.contents(of: "out")) ?? [], as: UTF8.self) }
    var port: Int?
    await eventually {
      let line = output().split(separator: "\n").first { $0.hasPrefix("ACCEPT 127.0.0.1:") }
      port = line.flatMap { Int($0.dropFirst("ACCEPT 127.0.0.1:".count)) }
      return port != nil
    }
    try await HTTPClientTests.withClient { configuration in
      configuration.authorities = trusts ? folder.file("certificate.pem") : nil
    } _: { client in
      let result = await HTTPClientTests.post(client, to: "https://127.0.0.1:\(try #require(port))/hook", #"{"x":1}"#)
      try await body(result, output)
    }
  }
}
