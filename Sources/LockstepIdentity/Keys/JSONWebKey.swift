import LockstepCryptography
import LockstepJSON

/// Why a key is skipped. Completes a sentence about the key.
struct JSONWebKeyError: Error, Equatable {
  let reason: String

  init(_ reason: String) { self.reason = reason }
}

/// A public key of an issuer, with its id and the algorithm that it is for.
struct JSONWebKey: Sendable, Equatable {
  let id: String
  let key: SignatureKey
  /// The only algorithm for this key. Nil: any that fits its type.
  let algorithm: SignatureAlgorithm?

  /// Reads a key of a key set (RFC 7517).
  init(_ json: JSON) throws(JSONWebKeyError) {
    guard let members = json.objectValue else { throw JSONWebKeyError("is not a JSON object") }
    guard let id = members["kid"]?.stringValue, (1...256).contains(id.utf8.count) else {
      throw JSONWebKeyError("has no kid of 1 to 256 bytes")
    }
    self.id = id
    if let use = members["use"], use != "sig" { throw JSONWebKeyError("is not for signatures") }
    if let operations = members["key_ops"], operations.arrayValue?.contains("verify") != true {
      throw JSONWebKeyError("is not for verifying")
    }
    if members.contains(name: "d") {
      throw JSONWebKeyError("is a private key, so every reader of the key set can sign tokens; replace it at once")
    }
    let numbers = try Self.numbers(in: members)
    do throws(SignatureKeyError) {
      key = try SignatureKey(numbers)
    } catch {
      throw JSONWebKeyError("with the kid “\(id)” is not usable: \(error)")
    }
    algorithm = try members["alg"].map { algorithm throws(JSONWebKeyError) in
      guard let algorithm = algorithm.stringValue.flatMap(SignatureAlgorithm.init(rawValue:)) else {
        throw JSONWebKeyError("is for an algorithm that the server does not support")
      }
      return algorithm
    }
    if let algorithm, algorithm.keyKind != key.kind { throw JSONWebKeyError("has an alg that does not fit its type") }
  }

  func fits(_ algorithm: SignatureAlgorithm) -> Bool {
    algorithm.keyKind == key.kind && (self.algorithm == nil || self.algorithm == algorithm)
  }

  private static func numbers(in members: JSONObject) throws(JSONWebKeyError) -> SignatureKey.Numbers {
    func bytes(_ name: String) throws(JSONWebKeyError) -> [UInt8] {
      guard let text = members[name]?.stringValue, let bytes = Base64.decodeURL(text) else {
        throw JSONWebKeyError("has no \(name) in base64url without padding")
      }
      return bytes
    }
    switch (members["kty"]?.stringValue, members["crv"]?.stringValue) {
    case ("RSA", _): return .rsa(modulus: try bytes("n"), exponent: try bytes("e"))
    case ("EC", "P-256"): return .p256(x: try bytes("x"), y: try bytes("y"))
    case ("OKP", "Ed25519"): return .ed25519(try bytes("x"))
    default: throw JSONWebKeyError("has a type or curve that the server does not support")
    }
  }

  static func == (left: JSONWebKey, right: JSONWebKey) -> Bool {
    left.id.hasSameBytes(as: right.id) && left.algorithm == right.algorithm && left.key.numbers == right.key.numbers
  }
}
