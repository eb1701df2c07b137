import LockstepCryptography
import LockstepJSON
import LockstepTestSupport
import LockstepTime
import Testing

@testable import LockstepIdentity

@Suite("Tokens of other issuers", .timeLimit(.minutes(10)))
struct TokenVerifierTests {
  static let signers: [(key: TestKey, algorithm: String)] = [
    (.rsa, "RS256"), (.rsa, "PS256"), (.ec, "ES256"), (.ed25519, "EdDSA"),
  ]

  @Test("A token by each algorithm names its user", arguments: SignatureAlgorithm.allCases)
  func verifies(algorithm: SignatureAlgorithm) async throws {
    let fixture = try Fixture()
    let signer = try #require(Self.signers.first { $0.algorithm == algorithm.rawValue })
    let token = fixture.token(
      claims: ["email": "ann@example.com", "email_verified": true, "sid": "login-1"],
      key: signer.key,
      algorithm: signer.algorithm
    )
    let identity = try await fixture.verify(token).get()
    #expect(identity.issuer == "https://issuer.example")
    #expect(identity.subject == "user-1")
    #expect(identity.expiresAt.millisecondsSince1970 == fixture.now.millisecondsSince1970 / 1000 * 1000 + 3_600_000)
    #expect(identity.issuedAt?.millisecondsSince1970 == fixture.now.millisecondsSince1970 / 1000 * 1000)
  }

  @Test("A token is remembered, so that it is verified once, until 60 seconds after it has expired")
  func remembers() async throws {
    let fixture = try Fixture()
    let token = fixture.token()
    #expect(fixture.remembered(token) == nil)
    let identity = try await fixture.verify(token).get()
    #expect(fixture.remembered(token) == identity)
    #expect(fixture.remembered(token + " ") == nil)
    #expect(fixture.remembered(String(token.dropLast())) == nil)
    fixture.time.advance(by: 3659)
    #expect(try await fixture.verify(token).get() == identity)
    #expect(fixture.remembered(token) == identity)
    fixture.time.advance(by: 1)
    #expect(fixture.remembered(token) == nil)
    #expect(await fixture.fault(token) == .expired)
  }

  @Test("The memory of tokens is bounded")
  func bounded() async throws {
    let fixture = try Fixture(capacity: 10)
    let tokens = (0..<50).map { fixture.issuer.token(for: "user-\($0)", now: fixture.now, key: .ed25519) }
    for token in tokens { _ = try await fixture.verify(token).get() }
    let remembered = tokens.filter { fixture.remembered($0) != nil }
    #expect((1...10).contains(remembered.count))
    #expect(fixture.remembered(tokens[49]) != nil)
    let forgetful = try Fixture(capacity: 0)
    #expect(await forgetful.verify(tokens[0]).isSuccess)
    #expect(forgetful.remembered(tokens[0]) == nil)
  }

  @Test("The server takes a token for several audiences, and distinguishes issuers")
  func audiencesAndIssuers() async throws {
    let other = FakeIssuer(url: "https://other.example/", audience: "b", keys: [.otherEC])
    let fixture = try Fixture(options: [
      "issuer=https://issuer.example,audience=app,audience=web",
      "issuer=https://other.example/,audience=b,jwks=https://other.example//keys",
    ])
    fixture.source.publish(other)
    for audience in ["app", "web", ["x", "web"], ["app"]] as [JSON] {
      #expect(await fixture.verify(fixture.token(claims: ["aud": audience])).isSuccess)
    }
    let identity = try await fixture.verify(other.token(now: fixture.now)).get()
    #expect(identity.issuer == "https://other.example/")
    #expect(await fixture.fault(other.token(now: fixture.now, claims: ["aud": "app"])) == .audience)
    #expect(await fixture.fault(other.token(now: fixture.now, claims: ["iss": "https://other.example"])) == .issuer)
    // A key of the other issuer does not sign for this one.
    #expect(await fixture.fault(fixture.token(key: .otherEC)) == .unknownKey)
  }

  @Test("Issuers, audiences and key ids are compared by bytes")
  func equivalentClaims() async throws {
    let issuer = FakeIssuer(audience: "Kaf\u{E9}", keys: [TestKey.rsa.named("K\u{E9}")])
    let fixture = try Fixture(issuer)
    #expect(await fixture.verify(fixture.token()).isSuccess)
    for audience in ["\u{212A}af\u{E9}", "Kafe\u{301}", ["x", "Kafe\u{301}"]] as [JSON] {
      #expect(await fixture.fault(fixture.token(claims: ["aud": audience])) == .audience)
    }
    for id in ["\u{212A}\u{E9}", "Ke\u{301}"] as [JSON] {
      #expect(await fixture.fault(fixture.token(header: ["kid": id])) == .unknownKey)
    }
    let named = try Fixture(
      options: ["issuer=Kaf\u{E9},audience=app,jwks=https://issuer.example/keys"]
    )
    #expect(await named.verify(named.token(claims: ["iss": "Kaf\u{E9}"])).isSuccess)
    for name in ["\u{212A}af\u{E9}", "Kafe\u{301}"] as [JSON] {
      #expect(await named.fault(named.token(claims: ["iss": name])) == .issuer)
    }
  }

  @Test("Only the algorithms of the option are accepted")
  func narrowedAlgorithms() async throws {
    let fixture = try Fixture(options: ["issuer=https://issuer.example,audience=app,algorithms=ES256+PS256"])
    for (key, algorithm) in Self.signers {
      let fault = await fixture.fault(fixture.token(key: key, algorithm: algorithm))
      #expect(fault == (["ES256", "PS256"].contains(algorithm) ? nil : .algorithm))
    }
  }

  @Test("Clocks may differ by 60 seconds")
  func leeway() async throws {
    let fixture = try Fixture()
    let now = Double(fixture.now.millisecondsSince1970) / 1000
    let cases: [(claims: [String: JSON?], fault: InvalidTokenError?)] = [
      (["exp": .double(now - 59.9)], nil), (["exp": .double(now - 60)], .expired),
      (["exp": .integer(0)], .expired), (["nbf": .double(now + 60)], nil), (["nbf": .double(now + 60.5)], .notYetValid),
      (["nbf": .integer(0)], nil), (["iat": .double(now + 60)], nil), (["iat": .double(now + 61)], .issuedInFuture),
      (["iat": nil, "nbf": nil], nil), (["iat": .integer(0)], nil), (["exp": .double(now + 0.5)], nil),
    ]
    for (claims, fault) in cases {
      #expect(await fixture.fault(fixture.token(claims: claims, key: .ed25519)) == fault, "\(claims)")
    }
  }

  @Test("Only texts that begin like JSON in Base64 and have a point are taken for tokens of issuers")
  func candidates() throws {
    let fixture = try Fixture()
    func isCandidate(_ text: String) -> Bool { Array(text.utf8).withUnsafeBytes { TokenVerifier.isCandidate($0) } }
    #expect(isCandidate(fixture.token()))
    for head in [#"{"alg":"#, "{ ", "{\n", "{\r\n", "{\t"] {
      #expect(isCandidate(Base64Text.encode(Array(head.utf8)) + ".e30.x"), "\(head)")
    }
    for text in ["", "e", "ey", "eyJ", "ls_00000000_abc", "a.b.c", "eY.x", ".ey.", "ew"] { #expect(!isCandidate(text)) }
  }

  @Test("A refusal says what is wrong, for developers and for the log")
  func texts() {
    #expect("\(TokenRefusal.notValid(.expired))" == "The token has expired.")
    #expect(
      "\(TokenRefusal.keysUnavailable(issuer: "https://a.example", retryAfter: .seconds(2)))"
        == "the keys of https://a.example are not there yet; the next attempt is in 2.0 seconds"
    )
  }
}
