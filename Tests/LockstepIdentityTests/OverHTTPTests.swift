import LockstepHTTP
import LockstepHTTPClient
import LockstepTestSupport
import LockstepThreading
import LockstepTime
import Testing

@testable import LockstepIdentity

@Suite("Keys over HTTP", .timeLimit(.minutes(10)))
struct OverHTTPTests {
  /// A verifier for an issuer on loopback, with libcurl and the system's clock.
  private func withVerifier(
    maxAge: Int,
    _ body: (TokenVerifier, FakeIssuer, LockedState<[KeyEvent]>) async throws -> Void
  ) async throws {
    // The issuer knows its URL when the server has its port.
    let issuer = LockedState(FakeIssuer())
    try await LoopbackServer.run { request in
      let issuer = issuer.withLock { $0 }
      let isDiscovery = request.head.path == "/.well-known/openid-configuration"
      var response = Response(
        status: isDiscovery || request.head.path == "/keys" ? .ok : .notFound,
        body: .bytes((isDiscovery ? issuer.discovery : issuer.keySet).encoded())
      )
      response.fields.append(.cacheControl, "public, max-age=\(maxAge)")
      return response
    } _: { port in
      issuer.withLock { $0.url = "http://127.0.0.1:\(port)" }
      var configuration = HTTPClient.Configuration.forKeys(userAgent: "tests/1")
      configuration.usesProxies = false
      // Longer than any test.
      configuration.bounds.connectTime = .seconds(600)
      configuration.bounds.totalTime = .seconds(600)
      let client = try HTTPClient(configuration)
      let events = LockedState<[KeyEvent]>([])
      let verifier = try TokenVerifier(
        TrustedIssuer.list(parsing: [issuer.withLock { $0.option }]),
        source: client,
        tasks: TaskScope(),
        time: .system,
        report: { event in events.withLock { $0.append(event) } }
      )
      do { try await body(verifier, issuer.withLock { $0 }, events) } catch { Issue.record(error) }
      await aside { client.shutDown() }
    }
  }

  @Test("A token of an issuer on this machine is verified with the keys that it serves")
  func verifies() async throws {
    try await withVerifier(maxAge: 3600) { verifier, issuer, events in
      for key in [TestKey.rsa, .ec, .ed25519] {
        let token = issuer.token(now: TimeSource.system.now(), key: key)
        let identity = try await verifier.verify(Array(token.utf8))
        #expect(identity.issuer == issuer.url)
      }
      #expect(events.withLock { $0 } == [.fetched(issuer: issuer.url, keys: 3, skipped: [])])
    }
  }
}
