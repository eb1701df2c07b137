import LockstepHTTPClient
import LockstepJSON
import LockstepTestSupport
import Testing

@testable import LockstepIdentity

@Suite("The keys of an issuer", .timeLimit(.minutes(10)))
struct IssuerKeysTests {
  private static let unavailable = TokenRefusal.keysUnavailable(
    issuer: "https://issuer.example",
    retryAfter: .seconds(1)
  )

  private func lastEvent(_ fixture: Fixture) -> String? { fixture.events.withLock { $0 }.last?.description }

  /// Waits until the fetches in the background have asked for keys this many times.
  private func keyRequests(_ fixture: Fixture, become count: Int) async {
    await eventually { fixture.source.requests.count { $0 == fixture.issuer.keysURL } == count }
    #expect(fixture.source.requests.count { $0 == fixture.issuer.keysURL } == count)
  }

  private func keyRequests(_ fixture: Fixture) -> Int {
    fixture.source.requests.count { $0 == fixture.issuer.keysURL }
  }

  @Test("The first token fetches the discovery document and the keys, and later ones fetch nothing")
  func discovers() async throws {
    let fixture = try Fixture()
    #expect(await fixture.verify(fixture.token()).isSuccess)
    #expect(await fixture.verify(fixture.token(key: .ec)).isSuccess)
    #expect(
      fixture.source.requests == [
        "https://issuer.example/.well-known/openid-configuration", "https://issuer.example/keys",
      ]
    )
    #expect(lastEvent(fixture) == "https://issuer.example publishes 3 keys.")
  }

  @Test("With jwks= there is no discovery")
  func withoutDiscovery() async throws {
    let fixture = try Fixture(options: ["issuer=issuer.example,audience=app,jwks=https://issuer.example/keys"])
    #expect(await fixture.verify(fixture.token(claims: ["iss": "issuer.example"])).isSuccess)
    #expect(fixture.source.requests == ["https://issuer.example/keys"])
  }

  @Test("Many requests share one fetch, and a cancelled one does not end it")
  func singleFlight() async throws {
    let fixture = try Fixture()
    fixture.source.hold()
    let token = Array(fixture.token().utf8)
    let first = Task { try await fixture.verifier.verify(token) }
    await eventually { fixture.source.heldCount == 1 }
    let others = (0..<20).map { _ in Task { try await fixture.verifier.verify(token) } }
    first.cancel()
    fixture.source.release()
    for task in [first] + others {
      let identity = try await task.value
      #expect(identity.subject == "user-1")
    }
    #expect(fixture.source.requests.count == 2)
  }

  @Test("A request that waits for a fetch only after it has ended does not begin another one")
  func lateRequest() async throws {
    let fixture = try Fixture()
    #expect(await fixture.verify(fixture.token()).isSuccess)
    await fixture.verifier.fetchKeys()
    #expect(fixture.source.requests.count == 2)
    // The same after a failure.
    fixture.source.goDown()
    fixture.time.advance(by: 10)
    for _ in 0..<3 { await fixture.verifier.fetchKeys() }
    #expect(fixture.source.requests.count == 3)
  }

  @Test("An issuer that was never reached is an error of its own, and attempts are 1, 2, 4, 8 and 10 seconds apart")
  func neverReached() async throws {
    let fixture = try Fixture()
    fixture.source.goDown()
    #expect(await fixture.verify(fixture.token()) == .failure(Self.unavailable))
    #expect(
      lastEvent(fixture)
        == "The keys of https://issuer.example cannot be fetched: https://issuer.example/.well-known/openid-configuration: "
        + "connection refused (connection). Until a fetch succeeds, requests with its tokens get 503."
    )
    var attempts = 1
    for seconds in [1, 2, 4, 8, 10, 10] as [Double] {
      fixture.time.advance(by: seconds - 0.5)
      #expect(
        await fixture.verify(fixture.token())
          == .failure(.keysUnavailable(issuer: "https://issuer.example", retryAfter: .seconds(1)))
      )
      #expect(fixture.source.requests.count == attempts)
      fixture.time.advance(by: 0.5)
      #expect(!(await fixture.verify(fixture.token()).isSuccess))
      attempts += 1
      #expect(fixture.source.requests.count == attempts)
    }
    #expect(
      await fixture.verify(fixture.token())
        == .failure(.keysUnavailable(issuer: "https://issuer.example", retryAfter: .seconds(10)))
    )
    fixture.source.publish(fixture.issuer)
    fixture.time.advance(by: 10)
    #expect(await fixture.verify(fixture.token()).isSuccess)
  }

  @Test("One issuer that is down does not affect another")
  func oneIsDown() async throws {
    let other = FakeIssuer(url: "https://other.example")
    let fixture = try Fixture(options: ["issuer=https://issuer.example,audience=app", other.option])
    #expect(!(await fixture.verify(other.token(now: fixture.now)).isSuccess))
    #expect(await fixture.verify(fixture.token()).isSuccess)
  }

  @Test("Keys can be fetched before the first request")
  func fetchesEarly() async throws {
    let fixture = try Fixture()
    await fixture.verifier.fetchKeys()
    #expect(fixture.source.requests.count == 2)
    #expect(await fixture.verify(fixture.token()).isSuccess)
    #expect(fixture.source.requests.count == 2)
  }

  @Test("An unknown key id fetches the keys at most once in ten seconds")
  func unknownKeys() async throws {
    var fixture = try Fixture()
    #expect(await fixture.verify(fixture.token()).isSuccess)
    fixture.issuer.keys.append(.otherEC)
    fixture.source.publish(fixture.issuer)
    let token = fixture.token(key: .otherEC)
    fixture.time.advance(by: 9.9)
    #expect(await fixture.fault(token) == .unknownKey)
    #expect(keyRequests(fixture) == 1)
    fixture.time.advance(by: 0.1)
    #expect(await fixture.verify(token).isSuccess)
    #expect(keyRequests(fixture) == 2)
    for _ in 0..<100 { #expect(await fixture.fault(fixture.token(key: .otherRSA)) == .unknownKey) }
    #expect(keyRequests(fixture) == 2)
    fixture.time.advance(by: 10)
    for _ in 0..<100 { #expect(await fixture.fault(fixture.token(key: .otherRSA)) == .unknownKey) }
    #expect(keyRequests(fixture) == 3)
    // The issuer is down. The unknown key is tried again after ten seconds, and the known ones stay.
    fixture.source.goDown()
    fixture.time.advance(by: 10)
    for _ in 0..<10 { #expect(await fixture.fault(fixture.token(key: .otherRSA)) == .unknownKey) }
    #expect(keyRequests(fixture) == 4)
    #expect(await fixture.verify(fixture.token()).isSuccess)
  }

  @Test("Keys are refreshed in the background before they are too old, and no request waits")
  func refreshes() async throws {
    let fixture = try Fixture()
    fixture.source.publish(fixture.issuer, maxAge: .seconds(1000))
    let token = fixture.token()
    #expect(await fixture.verify(token).isSuccess)
    fixture.time.advance(by: 799)
    #expect(fixture.remembered(token) != nil)
    #expect(keyRequests(fixture) == 1)
    fixture.source.hold()
    fixture.time.advance(by: 1)
    // The token is remembered, and begins the refresh.
    #expect(fixture.remembered(token) != nil)
    await keyRequests(fixture, become: 2)
    #expect(await fixture.verify(fixture.token(key: .ec)).isSuccess)
    #expect(fixture.remembered(token) != nil)
    fixture.source.release()
    await eventually { fixture.events.withLock { $0.count } == 2 }
    fixture.time.advance(by: 799)
    #expect(fixture.remembered(token) != nil)
    #expect(keyRequests(fixture) == 2)
  }

  @Test("A request waits for new keys if nothing has refreshed the old ones in time")
  func waitsForNewKeys() async throws {
    var fixture = try Fixture()
    let token = fixture.token(claims: ["exp": 800_000_000])
    #expect(await fixture.verify(token).isSuccess)
    fixture.time.advance(by: 3600)
    fixture.issuer.keys = [.ec]
    fixture.source.publish(fixture.issuer)
    #expect(fixture.remembered(token) == nil)
    #expect(await fixture.fault(token) == .unknownKey)
    #expect(keyRequests(fixture) == 2)
  }

  @Test("As long as the issuer is down, its last keys stay in use, with an attempt every ten seconds")
  func staleKeys() async throws {
    let fixture = try Fixture()
    let token = fixture.token(claims: ["exp": 800_000_000])
    #expect(await fixture.verify(token).isSuccess)
    fixture.source.goDown()
    fixture.time.advance(by: 86_400)
    // The first request waits for the attempt. The next ones do not.
    #expect(await fixture.verify(token).isSuccess)
    #expect(keyRequests(fixture) == 2)
    #expect(lastEvent(fixture)?.hasSuffix("The server goes on with the keys that it has.") == true)
    for _ in 0..<10 { #expect(fixture.remembered(token) != nil) }
    #expect(await fixture.verify(fixture.token(key: .ec)).isSuccess)
    #expect(keyRequests(fixture) == 2)
    fixture.time.advance(by: 10)
    #expect(fixture.remembered(token) != nil)
    // After a failure, the URL of the keys is discovered again.
    await eventually { fixture.source.requests.count == 4 }
    #expect(fixture.source.requests.last == "https://issuer.example/.well-known/openid-configuration")
    await eventually { fixture.events.withLock { $0.count } == 3 }
    fixture.source.publish(fixture.issuer)
    fixture.time.advance(by: 10)
    #expect(fixture.remembered(token) != nil)
    await eventually { fixture.events.withLock { $0.last?.description } == "https://issuer.example publishes 3 keys." }
    #expect(fixture.remembered(token) != nil)
  }

  @Test("If a key is no longer published, its remembered tokens end with the next fetch, and others stay")
  func withdrawnKeys() async throws {
    var fixture = try Fixture()
    let tokens = [fixture.token(), fixture.token(key: .ec)]
    for token in tokens { #expect(await fixture.verify(token).isSuccess) }
    // A new key changes nothing for the remembered tokens.
    fixture.issuer.keys = [.otherEC, .rsa, .ec, .ed25519]
    fixture.source.publish(fixture.issuer)
    fixture.time.advance(by: 10)
    #expect(await fixture.verify(fixture.token(key: .otherEC)).isSuccess)
    for token in tokens { #expect(fixture.remembered(token) != nil) }
    fixture.issuer.keys = [.otherEC, .ec]
    fixture.source.publish(fixture.issuer)
    fixture.time.advance(by: 10)
    await fixture.verifier.fetchKeys()
    for token in tokens { #expect(fixture.remembered(token) == nil) }
    #expect(await fixture.fault(tokens[0]) == .unknownKey)
    #expect(await fixture.verify(tokens[1]).isSuccess)
    #expect(fixture.remembered(tokens[1]) != nil)
    // Another key under the same id is no longer the same key.
    fixture.issuer.keys = [.otherEC.named("ec-1")]
    fixture.source.publish(fixture.issuer)
    fixture.time.advance(by: 10)
    await fixture.verifier.fetchKeys()
    #expect(fixture.remembered(tokens[1]) == nil)
    #expect(await fixture.fault(tokens[1]) == .signature)
  }

  @Test(
    "The lifetime of keys is that of Cache-Control, from 10 minutes to 24 hours, or else an hour",
    arguments: [
      (nil, 3600), (Duration.zero, 600), (.seconds(599), 600), (.seconds(5000), 5000), (.seconds(86_401), 86_400),
      (.seconds(9_999_999_999), 86_400),
    ] as [(Duration?, Double)]
  )
  func lifetimes(maxAge: Duration?, seconds: Double) async throws {
    let fixture = try Fixture()
    fixture.source.publish(fixture.issuer, maxAge: maxAge)
    let token = fixture.token(claims: ["exp": 800_000_000])
    #expect(await fixture.verify(token).isSuccess)
    fixture.time.advance(by: seconds * 0.8 - 0.01)
    #expect(fixture.remembered(token) != nil)
    #expect(keyRequests(fixture) == 1)
    fixture.time.advance(by: seconds * 0.2)
    #expect(fixture.remembered(token) != nil)
    await keyRequests(fixture, become: 2)
    await eventually { fixture.events.withLock { $0.count } == 2 }
    fixture.time.advance(by: seconds)
    #expect(fixture.remembered(token) == nil)
  }

  @Test("A response that is no key set or no discovery document of the issuer is a failure with its reason")
  func brokenDocuments() async throws {
    let discovery = "https://issuer.example/.well-known/openid-configuration"
    let keys = "https://issuer.example/keys"
    let cases: [(url: String, json: JSON?, status: Int, reason: String)] = [
      (
        discovery, ["issuer": "https://evil.example", "jwks_uri": .string(keys)], 200,
        "is of the issuer https://evil.example;"
      ),
      (
        discovery, ["issuer": "https://issuer.example/", "jwks_uri": .string(keys)], 200,
        "is of the issuer https://issuer.example/;"
      ),
      (discovery, ["jwks_uri": .string(keys)], 200, "has no issuer"),
      (discovery, ["issuer": "https://issuer.example"], 200, "has no jwks_uri"),
      (
        discovery, ["issuer": "https://issuer.example", "jwks_uri": "http://issuer.example/keys"], 200,
        "must begin with https://"
      ),
      (
        discovery, ["issuer": "https://issuer.example", "jwks_uri": "file:///etc/passwd"], 200,
        "must begin with https://"
      ),
      (discovery, [], 200, "has no issuer"), (discovery, [:], 404, "responded with 404"),
      (discovery, nil, 200, "is not JSON"),
      (keys, [:], 200, "is not a key set"), (keys, ["keys": "x"], 200, "is not a key set"),
      (keys, ["keys": []], 500, "responded with 500"),
      (keys, ["keys": []], 302, "responded with 302"), (keys, ["keys": []], 204, "responded with 204"),
      (keys, nil, 200, "is not JSON"),
    ]
    for (url, json, status, reason) in cases {
      let fixture = try Fixture()
      if let json {
        fixture.source.respond(to: url, with: json, status: status)
      } else {
        fixture.source.respond(to: url, with: Array("<html>".utf8))
      }
      #expect(await fixture.verify(fixture.token()) == .failure(Self.unavailable))
      #expect(lastEvent(fixture)?.contains(reason) == true, "\(lastEvent(fixture) ?? "")")
    }
    let fixture = try Fixture()
    fixture.source.respond(to: keys, with: [UInt8](repeating: UInt8(ascii: " "), count: KeyFetcher.longestDocument + 1))
    #expect(await fixture.verify(fixture.token()) == .failure(Self.unavailable))
    #expect(lastEvent(fixture)?.contains("is too long") == true)
  }

  @Test("A set without usable keys is a set: tokens are refused, and the log says why")
  func emptySet() async throws {
    var fixture = try Fixture()
    fixture.issuer.keys = []
    fixture.source.publish(fixture.issuer)
    #expect(await fixture.fault(fixture.token(key: .rsa)) == .unknownKey)
    #expect(
      lastEvent(fixture)
        == "https://issuer.example publishes no key that the server can use, so none of its tokens is valid."
    )
  }

  @Test("After a shutdown, keys are not available")
  func shutDown() async throws {
    let fixture = try Fixture()
    fixture.tasks.shutDown()
    #expect(await fixture.verify(fixture.token()) == .failure(Self.unavailable))
  }

  @Test("An HTTP client fetches the keys, and its configuration bounds a response")
  func overHTTP() async throws {
    let configuration = HTTPClient.Configuration.forKeys(userAgent: "tests/1")
    #expect(configuration.bounds.responseBytes == KeyFetcher.longestDocument)
    let source: any DocumentSource = try HTTPClient(configuration)
    await #expect(throws: TransferError.self) { try await source.get("http://127.0.0.1:1/keys") }
  }
}
