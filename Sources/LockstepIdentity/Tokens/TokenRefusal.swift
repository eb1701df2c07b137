/// Why a token is refused.
package enum TokenRefusal: Error, Sendable, Equatable, CustomStringConvertible {
  /// The token is not valid here.
  case notValid(InvalidTokenError)
  /// The issuer's keys were never fetched, so the server cannot say whether the token is valid. The
  /// client may send it again after this time.
  case keysUnavailable(issuer: String, retryAfter: Duration)

  /// For the log. It has no part of the token but the name of the issuer.
  package var description: String {
    switch self {
    case .notValid(let fault): fault.detail
    case .keysUnavailable(let issuer, let retryAfter):
      "the keys of \(issuer) are not there yet; the next attempt is in \(retryAfter)"
    }
  }
}

/// The fault of a token.
package enum InvalidTokenError: Error, Sendable, Equatable {
  case tooLong
  /// The token is not three parts in base64url.
  case form
  /// The header is not a JSON object with unique names.
  case header
  case algorithm
  case keyID
  case type
  /// The header has a member that the server does not support, such as `crit`.
  case extended(String)
  /// The payload is not a JSON object with unique names.
  case payload
  /// A claim is missing or has a wrong type or value.
  case claim(String)
  case issuer
  case audience
  case expired
  case notYetValid
  case issuedInFuture
  case unknownKey
  /// The issuer's key with this id is for another algorithm.
  case unfitKey
  case signature

  /// A sentence for the developer of a client. It says nothing that a client could not find out
  /// from its token.
  package var detail: String {
    switch self {
    case .tooLong: "The token has more than \(CompactToken.longest) bytes."
    case .form: "The token is not three parts in base64url, separated by dots."
    case .header: "The header is not a JSON object with unique names."
    case .algorithm: "The algorithm is not one that the server accepts from this issuer."
    case .keyID: "The header has no kid, or it is not a string of 1 to 256 bytes."
    case .type: "The typ in the header is neither JWT nor at+jwt."
    case .extended(let member): "The header has \(member), which the server does not support."
    case .payload: "The payload is not a JSON object with unique names."
    case .claim(let name): "The claim \(name) is missing or not valid."
    case .issuer: "The server does not accept tokens of this issuer."
    case .audience: "The token is for another audience."
    case .expired: "The token has expired."
    case .notYetValid: "The token is not valid yet."
    case .issuedInFuture: "The token was issued in the future, by the clock of the server."
    case .unknownKey: "The issuer has no key with this kid."
    case .unfitKey: "The issuer's key with this kid is for another algorithm."
    case .signature: "The signature is not valid."
    }
  }
}
