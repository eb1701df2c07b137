import LockstepCryptography
import LockstepJSON

/// An issuer whose tokens the server accepts, and what a token of it must say.
public struct TrustedIssuer: Sendable, Equatable {
  /// The value of the claim `iss`, compared byte for byte.
  package let name: String
  /// A token must name at least one of these in its claim `aud`.
  package let audiences: [String]
  package let algorithms: Set<SignatureAlgorithm>
  /// The URL of the key set. Nil: the discovery document of the issuer names it.
  package let keysURL: String?

  /// Reads the value of `--identity`: `issuer=<URL>,audience=<name>[,jwks=<URL>]`. `audience` may
  /// be repeated. `algorithms=RS256+ES256` allows fewer algorithms than all.
  package init(parsing text: String) throws(TrustedIssuerError) {
    var (issuers, audiences, keys, algorithms): ([String], [String], [String], [String]) = ([], [], [], [])
    for part in text.split(separator: ",", omittingEmptySubsequences: false) {
      let (name, value) = try Self.nameAndValue(part)
      switch name {
      case "issuer": issuers.append(value)
      case "audience": audiences.append(value)
      case "jwks": keys.append(value)
      case "algorithms": algorithms.append(value)
      default: throw .unknownPart(String(part))
      }
    }
    for (name, values) in [("issuer", issuers), ("jwks", keys), ("algorithms", algorithms)] where values.count > 1 {
      throw .repeated(name)
    }
    guard let issuer = issuers.first else { throw .missing("issuer") }
    guard !audiences.isEmpty else { throw .missing("audience") }
    name = issuer
    self.audiences = audiences
    self.algorithms = try algorithms.first.map(Self.algorithms(in:)) ?? Set(SignatureAlgorithm.allCases)
    keysURL = keys.first
    if let keysURL {
      if let fault = IssuerURL.fault(keysURL) { throw .url(part: "jwks", fault: fault) }
      // Some issuers are not URLs. But a URL without TLS is a mistake, even if its keys come from
      // elsewhere.
      if issuer.contains("://"), let fault = IssuerURL.fault(issuer) { throw .url(part: "issuer", fault: fault) }
    } else {
      if let fault = IssuerURL.fault(issuer) { throw .url(part: "issuer", fault: fault) }
      if issuer.contains("?") { throw .url(part: "issuer", fault: "must not have a query") }
    }
  }

  /// Reads several values of `--identity`. Each issuer may occur once.
  package static func list(parsing texts: [String]) throws(TrustedIssuerError) -> [TrustedIssuer] {
    var issuers: [TrustedIssuer] = []
    for text in texts { issuers.append(try TrustedIssuer(parsing: text)) }
    try expectDifferentIssuers(issuers)
    return issuers
  }

  /// Throws if two of the issuers have the same name.
  package static func expectDifferentIssuers(_ issuers: [TrustedIssuer]) throws(TrustedIssuerError) {
    var names: Set<ExactText> = []
    for issuer in issuers where !names.insert(issuer.name.exact).inserted {
      throw .issuerRepeated(issuer.name)
    }
  }

  /// `<issuer>/.well-known/openid-configuration`, without a second slash.
  var discoveryURL: String {
    (name.hasSuffix("/") ? String(name.dropLast()) : name) + "/.well-known/openid-configuration"
  }

  private static func nameAndValue(_ part: Substring) throws(TrustedIssuerError) -> (Substring, String) {
    guard let end = part.firstIndex(of: "=") else { throw .unknownPart(String(part)) }
    let value = part[part.index(after: end)...]
    guard !value.isEmpty, value.utf8.count <= 2048, value.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else {
      throw .value(String(part[..<end]))
    }
    return (part[..<end], String(value))
  }

  private static func algorithms(in text: String) throws(TrustedIssuerError) -> Set<SignatureAlgorithm> {
    var algorithms: Set<SignatureAlgorithm> = []
    for name in text.split(separator: "+", omittingEmptySubsequences: false) {
      guard let algorithm = SignatureAlgorithm(rawValue: String(name)) else { throw .algorithm(String(name)) }
      algorithms.insert(algorithm)
    }
    return algorithms
  }
}
