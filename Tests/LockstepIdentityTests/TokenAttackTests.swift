import LockstepCryptography
import LockstepJSON
import LockstepTestSupport
import LockstepTime
import Testing

@testable import LockstepIdentity

@Suite("Attacks with tokens", .timeLimit(.minutes(10)))
struct TokenAttackTests {
  private func encode(_ text: String) -> String { Base64Text.encode(Array(text.utf8)) }

  @Test("An algorithm without a signature or with a shared secret is refused")
  func otherAlgorithms() async throws {
    let fixture = try Fixture()
    let parts = fixture.token().split(separator: ".")
    let names = [
      "none", "None", "NONE", "nOnE", "", "HS256", "HS384", "HS512", "RS384", "RS512", "PS384", "PS512", "ES384",
      "ES512",
      "ES256K", "Ed25519", "Ed448", "rs256", "RS256 ", "RS256\0", "RSA-OAEP", "dir",
    ]
    for name in names {
      let header = encode(JSON.object(["alg": .string(name), "typ": "JWT", "kid": "rsa-1"]).encodedText)
      for signature in [String(parts[2]), ""] {
        #expect(await fixture.fault("\(header).\(parts[1]).\(signature)") == .algorithm, "\(name)")
      }
    }
    for value in [nil, true, 1, [], ["RS256"], JSON.null] as [JSON?] {
      #expect(await fixture.fault(fixture.token(header: ["alg": value])) == .algorithm)
    }
  }

  @Test("The public key is not accepted as a shared secret, and keys of the kind oct are not used")
  func publicKeyAsSecret() async throws {
    let fixture = try Fixture()
    // The signature would be the HMAC with the public key. The algorithm is refused before any signature is checked.
    #expect(await fixture.fault(fixture.token(header: ["alg": "HS256"])) == .algorithm)
    fixture.source.respond(
      to: fixture.issuer.keysURL,
      with: ["keys": [["kty": "oct", "kid": "rsa-1", "alg": "HS256", "k": "c2VjcmV0"]]]
    )
    #expect(await fixture.fault(fixture.token()) == .unknownKey)
    #expect(
      fixture.events.withLock { $0 }.last?.description.contains("publishes no key that the server can use") == true
    )
  }

  @Test("A key of another type or for another algorithm verifies nothing")
  func keyConfusion() async throws {
    let fixture = try Fixture()
    for (key, algorithm) in TokenVerifierTests.signers {
      for (otherKey, otherAlgorithm) in TokenVerifierTests.signers where otherAlgorithm != algorithm {
        // The header says the other algorithm, with this key.
        let fault = await fixture.fault(
          fixture.token(header: ["alg": .string(otherAlgorithm)], key: key, algorithm: algorithm)
        )
        let sharesKey = key.id == otherKey.id
        #expect(fault == (sharesKey ? .signature : .unfitKey), "\(algorithm) \(otherAlgorithm)")
        // The header names the other key, with this algorithm.
        guard !sharesKey else { continue }
        let other = await fixture.fault(
          fixture.token(header: ["kid": .string(otherKey.id)], key: key, algorithm: algorithm)
        )
        #expect(other == .unfitKey)
      }
    }
  }

  @Test("A signature by another key of the same type is not valid")
  func wrongKey() async throws {
    let fixture = try Fixture()
    for (key, other) in [(TestKey.rsa, TestKey.otherRSA), (.ec, .otherEC), (.ed25519, .otherEd25519)] {
      #expect(await fixture.fault(fixture.token(key: other.named(key.id))) == .signature)
      #expect(await fixture.fault(fixture.token(key: other)) == .unknownKey)
    }
    #expect(await fixture.fault(fixture.token(key: .rsa.named("rsa-2"))) == .unknownKey)
  }

  @Test("A key id is only compared with those of the issuer's keys")
  func keyIDs() async throws {
    let fixture = try Fixture()
    let ids = [
      "../../../../dev/null", "/etc/passwd", "rsa-1' OR '1'='1", "rsa-1\0", "RSA-1", " rsa-1",
      "https://evil.example/keys",
      "rsa-1\r\nX: y", "\u{202E}rsa-1",
    ]
    for id in ids { #expect(await fixture.fault(fixture.token(header: ["kid": .string(id)])) == .unknownKey, "\(id)") }
    for id in [nil, "", 1, true, JSON.null, ["rsa-1"], .string(String(repeating: "k", count: 257))] as [JSON?] {
      #expect(await fixture.fault(fixture.token(header: ["kid": id])) == .keyID)
    }
    #expect(Set(fixture.source.requests).count == 2)
  }

  @Test("Keys and certificates in the header are ignored, and their URLs are never fetched")
  func keysInHeader() async throws {
    let fixture = try Fixture()
    let header: [String: JSON?] = [
      "jku": "https://evil.example/keys", "x5u": "https://evil.example/cert",
      "jwk": .object(TestKey.otherRSA.publicKey),
      "x5c": ["MIIB"], "x5t": "x",
    ]
    #expect(await fixture.fault(fixture.token(header: header, key: .otherRSA.named("rsa-1"))) == .signature)
    #expect(await fixture.fault(fixture.token(header: header, key: .otherRSA)) == .unknownKey)
    #expect(await fixture.verify(fixture.token(header: header)).isSuccess)
    #expect(fixture.source.requests.allSatisfy { $0.hasPrefix("https://issuer.example/") })
  }

  @Test("Members of the header that change the meaning of a token are refused")
  func extensions() async throws {
    let fixture = try Fixture()
    for (name, value) in [
      ("crit", ["exp"]), ("crit", []), ("crit", "x"), ("b64", false), ("b64", true), ("zip", "DEF"), ("enc", "A256GCM"),
    ] as [(String, JSON)] {
      #expect(await fixture.fault(fixture.token(header: [name: value])) == .extended(name))
    }
    for type in ["JWT", "jwt", "at+jwt", "AT+JWT", "application/at+jwt", nil] as [JSON?] {
      #expect(await fixture.verify(fixture.token(header: ["typ": type])).isSuccess)
    }
    for type in ["JWE", "", "secevent+jwt", "logout+jwt", "dpop+jwt", 1, JSON.null, ["JWT"]] as [JSON?] {
      #expect(await fixture.fault(fixture.token(header: ["typ": type])) == .type)
    }
  }

  @Test("A token has exactly three parts in base64url with one spelling")
  func forms() async throws {
    let fixture = try Fixture()
    let token = fixture.token(key: .ec)
    let parts = token.split(separator: ".").map(String.init)
    let (header, payload, signature) = (parts[0], parts[1], parts[2])
    let forms = [
      "", ".", "...", header, "\(header).\(payload)", "\(token).", "\(token).\(signature)", ".\(token)",
      "\(header).\(payload).\(signature).\(signature).\(signature)", "\(token)=", "\(token)==",
      "\(header)=.\(payload).\(signature)",
      " \(token)", "\(token) ", "\(token)\n", "\(header).\(payload)\n.\(signature)",
      "\(header) .\(payload).\(signature)",
      "\(token)\0", "\(token)é", "\(header).\(payload).\(signature.dropLast(3))+/=",
      "\(header)..\(payload).\(signature)",
      #"{"payload":"\#(payload)","protected":"\#(header)","signature":"\#(signature)"}"#,
    ]
    for form in forms { #expect(await fixture.fault(form) == .form, "\(form)") }
    // 64 bytes are 86 characters, of which the last has four unused bits.
    let last = try #require(signature.last)
    for other in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_" where other != last {
      let fault = await fixture.fault("\(header).\(payload).\(signature.dropLast())\(other)")
      #expect(fault == ("AQgw".contains(other) ? .signature : .form))
    }
    #expect(await fixture.fault("\(header).\(payload).") == .signature)
    #expect(await fixture.fault("\(token)A") == .signature)
    #expect(await fixture.fault("..") == .header)
    #expect(await fixture.verify(token).isSuccess)
  }

  @Test("An encrypted token is refused")
  func encrypted() async throws {
    let fixture = try Fixture()
    let header = encode(#"{"alg":"RSA-OAEP","enc":"A256GCM","kid":"rsa-1"}"#)
    #expect(await fixture.fault("\(header).AAAA.AAAA.AAAA.AAAA") == .form)
    #expect(await fixture.fault("\(header).AAAA.AAAA") == .extended("enc"))
  }

  @Test("A token has at most 8 KiB")
  func oversized() async throws {
    let fixture = try Fixture()
    let empty = fixture.token(claims: ["x": ""], key: .ed25519).utf8.count
    let fits = fixture.token(
      claims: ["x": .string(String(repeating: "a", count: (8192 - empty) / 4 * 3))],
      key: .ed25519
    )
    #expect((8185...8192).contains(fits.utf8.count))
    #expect(await fixture.verify(fits).isSuccess)
    let long = fixture.token(claims: ["x": .string(String(repeating: "a", count: 6200))], key: .ed25519)
    #expect(long.utf8.count > 8192)
    #expect(await fixture.fault(long) == .tooLong)
    #expect(await fixture.fault(String(repeating: "a", count: 1_000_000)) == .tooLong)
    #expect(fixture.source.requests.count == 2)
  }

  static let brokenObjects: [String] = [
    "", " ", "null", "1", "[]", #""x""#, "{", "{}}", "{},", "\u{FEFF}{}", #"{"alg":"RS256","kid":"rsa-1",}"#,
    #"{"alg":"RS256","alg":"RS256","kid":"rsa-1"}"#, #"{"alg":"none","kid":"rsa-1","alg":"RS256"}"#,
    #"{"alg":"RS256","\u0061lg":"RS256","kid":"rsa-1"}"#, #"{"alg":"RS256","kid":"rsa-1","x":{"a":1,"a":1}}"#,
    #"{"alg":"RS256","kid":"rsa-1","x":[[{"a":{},"b":":","a":{}}]]}"#, #"{'alg':'RS256','kid':'rsa-1'}"#,
    #"{"alg":"RS256","kid":"rsa-1","x":NaN}"#, #"{"alg":"RS256","kid":"rsa-1","x":1e999}"#,
    #"{"alg":"RS256","kid":"rsa-1","x":"\#(String(repeating: "[", count: 17))\#(String(repeating: "]", count: 17))}"#,
    #"{"alg":"RS256","kid":"rsa-1","x":\#(String(repeating: "[", count: 16))\#(String(repeating: "]", count: 16))}"#,
    #"{"alg":"RS256","kid":"rsa-1","x":\#(String(repeating: #"{"a":"#, count: 500))1\#(String(repeating: "}", count: 500))}"#,
    #"{"alg":"RS256","kid":"rsa-1","x":"\ud800"}"#, "{\"alg\":\"RS256\",\"kid\":\"rsa-1\",\"x\":\"\0\"}",
  ]

  @Test("A header that is no JSON object with unique names is refused", arguments: brokenObjects)
  func brokenHeaders(text: String) async throws {
    let fixture = try Fixture()
    let payload = Array(#"{"iss":"https://issuer.example"}"#.utf8)
    let token = FakeIssuer.sign(header: Array(text.utf8), payload: payload, key: .rsa, algorithm: "RS256")
    #expect(await fixture.fault(token) == .header)
    #expect(fixture.source.requests.isEmpty)
  }

  @Test("A payload that is no JSON object with unique names is refused", arguments: brokenObjects)
  func brokenPayloads(text: String) async throws {
    let fixture = try Fixture()
    let header = Array(#"{"alg":"RS256","kid":"rsa-1"}"#.utf8)
    #expect(
      await fixture.fault(FakeIssuer.sign(header: header, payload: Array(text.utf8), key: .rsa, algorithm: "RS256"))
        == .payload
    )
    let invalidUTF8 = Array(#"{"sub":""#.utf8) + [0xFF, 0xC0, 0x80] + Array(#""}"#.utf8)
    #expect(
      await fixture.fault(FakeIssuer.sign(header: header, payload: invalidUTF8, key: .rsa, algorithm: "RS256"))
        == .payload
    )
    #expect(fixture.source.requests.isEmpty)
  }

  @Test("Colons and names in strings are no repeated names")
  func uniqueNames() async throws {
    let fixture = try Fixture()
    let claims: [String: JSON?] = [
      "a": #"{"a":1,"a":2}:::\\"#, "b": ["a": 1, "b:\"": ["a": [["a": ":"], ["a": "\\\""]]]], "c:": ["::", "\\"],
      "": "",
    ]
    #expect(await fixture.verify(fixture.token(claims: claims)).isSuccess)
  }

  @Test("A claim that is missing or has a wrong type or value is refused")
  func claims() async throws {
    let fixture = try Fixture()
    let times: [JSON?] = [
      "1", "", true, [], [:], JSON.null, -1, .double(-0.5), .double(1e300), .integer(253_402_300_800), .unsigned(.max),
    ]
    for time in times {
      for name in ["exp", "nbf", "iat"] {
        #expect(
          await fixture.fault(fixture.token(claims: [name: time])) == .claim(name),
          "\(name) \(String(describing: time))"
        )
      }
    }
    #expect(await fixture.fault(fixture.token(claims: ["exp": nil])) == .claim("exp"))
    for subject in [
      nil, "", 1, JSON.null, ["user-1"], "user\0", "user\n1", "user\u{85}", "\u{7F}",
      .string(String(repeating: "a", count: 256)),
      .string(String(repeating: "é", count: 128)),
    ] as [JSON?] {
      #expect(await fixture.fault(fixture.token(claims: ["sub": subject])) == .claim("sub"))
    }
    #expect(await fixture.verify(fixture.token(claims: ["sub": .string(String(repeating: "é", count: 127))])).isSuccess)
    for audience in [nil, 1, [], ["app", 1], JSON.null, ["app": true], [["app"]], true] as [JSON?] {
      #expect(await fixture.fault(fixture.token(claims: ["aud": audience])) == .claim("aud"))
    }
    for audience in ["", "App", "app ", "other", ["other", "ap"], "app\0"] as [JSON?] {
      #expect(await fixture.fault(fixture.token(claims: ["aud": audience, "azp": "app"])) == .audience)
    }
    for issuer in [nil, 1, JSON.null, ["https://issuer.example"]] as [JSON?] {
      #expect(await fixture.fault(fixture.token(claims: ["iss": issuer])) == .claim("iss"))
    }
    for issuer in [
      "", "https://issuer.example/", "https://ISSUER.example", "http://issuer.example",
      "https://issuer.example.evil.example",
      "issuer.example", "https://issuer.example\0",
    ] as [JSON?] {
      #expect(await fixture.fault(fixture.token(claims: ["iss": issuer])) == .issuer)
    }
    #expect(Set(fixture.source.requests).count == 2)
  }

  @Test("A token with a wrong claim, or of another issuer, costs no fetch")
  func noFetch() async throws {
    let fixture = try Fixture()
    for claims in [["iss": "https://evil.example"], ["aud": "x"], ["exp": 1], ["sub": ""]] as [[String: JSON?]] {
      #expect(await fixture.fault(fixture.token(claims: claims)) != nil)
    }
    #expect(fixture.source.requests.isEmpty)
  }

  @Test("The two signatures of ECDSA that are valid for one token name the same user, and are remembered apart")
  func malleability() async throws {
    let fixture = try Fixture()
    let token = fixture.token(key: .ec)
    let parts = token.split(separator: ".").map(String.init)
    let signature = Base64Text.decode(parts[2])
    let order = Base64Text.decode("_____wAAAAD__________7zm-q2nF56E87nKwvxjJVE")
    var (negated, borrow) = ([UInt8](repeating: 0, count: 32), 0)
    for place in (0..<32).reversed() {
      let difference = Int(order[place]) - Int(signature[32 + place]) - borrow
      negated[place] = UInt8(truncatingIfNeeded: difference)
      borrow = difference < 0 ? 1 : 0
    }
    let other = "\(parts[0]).\(parts[1]).\(Base64Text.encode(signature.prefix(32) + negated))"
    #expect(other != token)
    let identity = try await fixture.verify(token).get()
    #expect(fixture.remembered(other) == nil)
    #expect(try await fixture.verify(other).get() == identity)
    #expect(fixture.remembered(other) == identity)
  }

  @Test("No token with a changed character or bit is valid")
  func mutations() async throws {
    var numbers = SeededNumbers(seed: TestSeed.make(for: "mutations"))
    let fixture = try Fixture()
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.=+/ \0\n".utf8)
    for (key, algorithm) in TokenVerifierTests.signers {
      let token = Array(fixture.token(claims: ["email": "a@b.example"], key: key, algorithm: algorithm).utf8)
      #expect(await fixture.verify(String(decoding: token, as: UTF8.self)).isSuccess)
      for _ in 0..<500 {
        var changed = token
        let place = numbers.below(token.count)
        switch numbers.below(4) {
        case 0: changed[place] ^= 1 << UInt8(numbers.below(8))
        case 1: changed[place] = numbers.one(of: alphabet)
        case 2: changed.remove(at: place)
        default: changed.insert(numbers.one(of: alphabet), at: place)
        }
        guard changed != token else { continue }
        await #expect(throws: TokenRefusal.self, "\(algorithm) \(place)") { try await fixture.verifier.verify(changed) }
      }
    }
  }

  @Test("No bytes end the process")
  func randomTokens() async throws {
    var numbers = SeededNumbers(seed: TestSeed.make(for: "randomTokens"))
    let fixture = try Fixture()
    let texts = [
      "{", "}", "[", "]", "\"", ":", ",", "alg", "RS256", "kid", "rsa-1", "iss", "https://issuer.example", "1", "\\",
      "e9",
    ]
    for _ in 0..<3000 {
      func part() -> String {
        Base64Text.encode((0..<numbers.below(20)).flatMap { _ in Array(numbers.one(of: texts).utf8) })
      }
      let parts = (0..<(numbers.once(in: 4) ? numbers.below(6) : 3)).map { _ in part() }
      #expect(await fixture.fault(parts.joined(separator: ".")) != nil)
      let bytes = (0..<numbers.below(400)).map { _ in UInt8(numbers.below(256)) }
      await #expect(throws: TokenRefusal.self) { try await fixture.verifier.verify(bytes) }
    }
  }
}

extension JSON {
  fileprivate var encodedText: String { String(decoding: encoded(), as: UTF8.self) }
}
