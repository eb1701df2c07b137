import LockstepCryptography

/// Why a value of `--identity` cannot be used, with advice.
package enum TrustedIssuerError: Error, Sendable, Equatable, CustomStringConvertible {
  case unknownPart(String)
  case missing(String)
  case repeated(String)
  /// The value of a part is empty, too long, or has white space.
  case value(String)
  case algorithm(String)
  /// `fault` completes a sentence about the part.
  case url(part: String, fault: String)
  case issuerRepeated(String)

  package var description: String {
    switch self {
    case .unknownPart(let part):
      "there is no part “\(part)”; write issuer=<URL>,audience=<name>, and perhaps jwks=<URL> or "
        + "algorithms=RS256+ES256"
    case .missing("audience"):
      "audience= is missing; without it, the server would accept tokens that the issuer made for other apps"
    case .missing(let part): "\(part)= is missing; write issuer=<URL>,audience=<name>"
    case .repeated("algorithms"): "algorithms= is there twice; write all in one part, such as algorithms=RS256+ES256"
    case .repeated(let part): "\(part)= is there twice; write one --identity for each issuer"
    case .value(let part): "the value of \(part)= is empty, has white space, or has more than 2048 bytes"
    case .algorithm(let name):
      "there is no algorithm “\(name)”; write one or more of "
        + SignatureAlgorithm.allCases.map(\.rawValue).joined(separator: "+")
        + ". Tokens with a shared secret (HS256) are not supported: let the issuer sign with a key pair"
    case .url(let part, let fault): "the URL in \(part)= \(fault)"
    case .issuerRepeated(let issuer):
      "the issuer \(issuer) is there twice; write one --identity with all its audiences: "
        + "issuer=<URL>,audience=<name>,audience=<name>"
    }
  }
}
