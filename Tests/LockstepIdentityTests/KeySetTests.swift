import LockstepCryptography
import LockstepJSON
import LockstepTestSupport
import Testing

@testable import LockstepIdentity

@Suite("Key sets", .timeLimit(.minutes(10)))
struct KeySetTests {
  private func key(_ key: TestKey, _ changes: [String: JSON?] = [:]) -> JSON {
    var members = key.publicKey
    for (name, value) in changes { members[name] = value }
    return .object(members)
  }

  private func skipped(_ key: JSON) -> String? { KeySet(["keys": [key]])?.skipped.first }

  @Test("The keys of all types are read, and unknown members are ignored")
  func reads() throws {
    let set = try #require(
      KeySet([
        "keys": [
          key(.rsa, ["use": "sig", "alg": "RS256", "x5c": ["MIIB"], "x5t": "x", "exp": 1]), key(.ec, ["alg": "ES256"]),
          key(.ed25519, ["key_ops": ["verify"]]), key(.otherRSA, ["alg": "PS256", "key_ops": ["sign", "verify"]]),
        ], "more": true,
      ])
    )
    #expect(set.count == 4)
    #expect(set.skipped == [])
    #expect(set.keys["rsa-1"]?.first?.fits(.rs256) == true)
    #expect(set.keys["rsa-1"]?.first?.fits(.ps256) == false)
    #expect(set.keys["rsa-2"]?.first?.fits(.ps256) == true)
    #expect(set.keys["rsa-2"]?.first?.fits(.rs256) == false)
    #expect(set.keys["ec-1"]?.first?.fits(.es256) == true)
    #expect(set.keys["ec-1"]?.first?.fits(.edDSA) == false)
  }

  @Test("A text that is no key set is refused")
  func noKeySet() {
    for json in [nil, [], [:], ["keys": [:]], ["keys": nil], "keys"] as [JSON] { #expect(KeySet(json) == nil) }
    #expect(KeySet(["keys": []])?.count == 0)
  }

  @Test("A key that cannot be used is skipped with a reason, and the others are used")
  func skips() throws {
    let set = try #require(
      KeySet(["keys": [1, key(.rsa, ["use": "enc"]), key(.ec), ["kty": "oct", "kid": "a", "k": "AAAA"], nil]])
    )
    #expect(set.count == 1)
    #expect(
      set.skipped == [
        "Key 1 is not a JSON object.", "Key 2 is not for signatures.",
        "Key 4 has a type or curve that the server does not support.", "Key 5 is not a JSON object.",
      ]
    )
    #expect(skipped(key(.rsa, ["kid": nil])) == "Key 1 has no kid of 1 to 256 bytes.")
    #expect(skipped(key(.rsa, ["kid": ""])) == "Key 1 has no kid of 1 to 256 bytes.")
    #expect(skipped(key(.rsa, ["kid": 1])) == "Key 1 has no kid of 1 to 256 bytes.")
    #expect(skipped(key(.rsa, ["use": 1])) == "Key 1 is not for signatures.")
    #expect(skipped(key(.rsa, ["key_ops": ["encrypt"]])) == "Key 1 is not for verifying.")
    #expect(skipped(key(.rsa, ["key_ops": "verify"])) == "Key 1 is not for verifying.")
    for algorithm in ["RS512", "none", "HS256", "RSA-OAEP", 1, JSON.null] as [JSON] {
      #expect(skipped(key(.rsa, ["alg": algorithm])) == "Key 1 is for an algorithm that the server does not support.")
    }
    #expect(skipped(key(.rsa, ["alg": "ES256"])) == "Key 1 has an alg that does not fit its type.")
    #expect(
      skipped(key(.rsa, ["d": "AAAA"]))
        == "Key 1 is a private key, so every reader of the key set can sign tokens; replace it at once."
    )
    for name in ["n", "e"] {
      for value in [nil, 1, "AQAB=", "AQ+B", "A"] as [JSON?] {
        #expect(skipped(key(.rsa, [name: value])) == "Key 1 has no \(name) in base64url without padding.")
      }
    }
    #expect(skipped(key(.rsa, ["e": "AQ"]))?.contains("the RSA exponent is not an odd number") == true)
    #expect(skipped(key(.rsa, ["n": "AQAB"]))?.contains("the RSA modulus has 17 bits") == true)
    #expect(skipped(key(.ec, ["crv": "P-384"])) == "Key 1 has a type or curve that the server does not support.")
    #expect(skipped(key(.ec, ["crv": nil])) == "Key 1 has a type or curve that the server does not support.")
    #expect(
      skipped(key(.ec, ["x": TestKey.otherEC.publicKey["x"]]))
        == "Key 1 with the kid “ec-1” is not usable: the point is not a valid public key on P-256."
    )
    #expect(skipped(key(.ed25519, ["crv": "X25519"])) == "Key 1 has a type or curve that the server does not support.")
    #expect(skipped(key(.ed25519, ["x": "AQAA"]))?.hasSuffix("does not have 32 bytes.") == true)
  }

  @Test("Of two keys of one type with the same id, the first is used, and keys of different types may share an id")
  func repeatedIDs() throws {
    let set = try #require(
      KeySet(["keys": [key(.rsa), key(.otherRSA, ["kid": "rsa-1"]), key(.ec, ["kid": "rsa-1"]), key(.rsa)]])
    )
    #expect(set.count == 2)
    #expect(set.skipped.count == 2)
    #expect(set.skipped.allSatisfy { $0.hasSuffix("has the same kid as another key of its type.") })
    #expect(set.keys["rsa-1"]?.first { $0.fits(.rs256) }?.key.verify([], of: [], by: .rs256) == false)
    #expect(set.keys["rsa-1"]?.first == KeySet(["keys": [key(.rsa)]])?.keys["rsa-1"]?.first)
    #expect(set.keys["rsa-1"]?.contains { $0.fits(.es256) } == true)
  }

  @Test("A key whose private key can be computed, as chips with the weakness ROCA have made it, is skipped")
  func weakPrimes() throws {
    let reason = try #require(skipped(key(.roca)))
    #expect(reason.hasPrefix("Key 1 with the kid “roca-1” is not usable: ") && reason.contains("ROCA"))
    #expect(KeySet(["keys": [key(.roca), key(.rsa), key(.otherRSA)]])?.keys.count == 2)
  }

  @Test("Key ids are compared by bytes")
  func equivalentIDs() throws {
    let set = try #require(
      KeySet(["keys": [key(.rsa, ["kid": "\u{E9}"]), key(.otherRSA, ["kid": "e\u{301}"]), key(.rsa, ["kid": "K"])]])
    )
    #expect(set.count == 3 && set.skipped == [])
    #expect(set.keys["\u{E9}"]?.first != set.keys["e\u{301}"]?.first)
    #expect(set.keys["\u{212A}"] == nil)
    let other = try #require(KeySet(["keys": [key(.rsa, ["kid": "\u{212A}"])]]))
    #expect(!set.contains(other))
  }

  @Test("At most 100 keys are read")
  func manyKeys() throws {
    let keys = (0..<150).map { key(.ed25519, ["kid": .string("k\($0)")]) }
    let set = try #require(KeySet(["keys": .array(keys)]))
    #expect(set.count == 100)
    #expect(set.skipped == ["The set has more than 100 keys; the others are not used."])
  }

  @Test("A set contains another one if all its keys are there without changes")
  func containment() throws {
    func set(_ keys: JSON...) throws -> KeySet { try #require(KeySet(["keys": .array(keys)])) }
    let both = try set(key(.rsa), key(.ec))
    #expect(try both.contains(set(key(.rsa))))
    #expect(try both.contains(set()))
    #expect(both.contains(both))
    #expect(try !set(key(.rsa)).contains(both))
    #expect(try !set(key(.rsa), key(.otherEC, ["kid": "ec-1"])).contains(both))
    #expect(try !set(key(.rsa, ["alg": "RS256"]), key(.ec)).contains(both))
  }
}
