import LockstepCryptography
import LockstepJSON

/// A token in the compact form of JWS (RFC 7515), of which only the form is checked.
struct CompactToken {
  static let longest = 8192

  let algorithm: SignatureAlgorithm
  let keyID: String
  let claims: JSONObject
  /// The bytes that are signed.
  let signed: [UInt8]
  let signature: [UInt8]

  init(_ token: [UInt8]) throws(InvalidTokenError) {
    guard token.count <= Self.longest else { throw .tooLong }
    let parts = token.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count == 3, let header = Base64.decodeURL(parts[0]), let payload = Base64.decodeURL(parts[1]),
      let signature = Base64.decodeURL(parts[2])
    else { throw .form }
    guard let header = UniqueJSON.object(parsing: header) else { throw .header }
    algorithm = try Self.algorithm(in: header)
    keyID = try Self.keyID(in: header)
    guard let claims = UniqueJSON.object(parsing: payload) else { throw .payload }
    (self.claims, self.signature) = (claims, signature)
    signed = Array(token[..<parts[1].endIndex])
  }

  /// Reads the algorithm, and refuses what would change the meaning of the token. `jku`, `jwk`,
  /// `x5u` and `x5c` are ignored: keys come from the configured issuer only.
  private static func algorithm(in header: JSONObject) throws(InvalidTokenError) -> SignatureAlgorithm {
    for member in ["crit", "b64", "zip", "enc"] where header.contains(name: member) { throw .extended(member) }
    guard let algorithm = header["alg"]?.stringValue.flatMap(SignatureAlgorithm.init(rawValue:)) else {
      throw .algorithm
    }
    if let type = header["typ"] {
      guard let type = type.stringValue?.lowercased(),
        ["jwt", "at+jwt", "application/jwt", "application/at+jwt"].contains(type)
      else { throw .type }
    }
    return algorithm
  }

  private static func keyID(in header: JSONObject) throws(InvalidTokenError) -> String {
    guard let keyID = header["kid"]?.stringValue, (1...256).contains(keyID.utf8.count) else { throw .keyID }
    return keyID
  }
}
