/// An event about the keys of an issuer, for the log.
package enum KeyEvent: Sendable, Equatable, CustomStringConvertible {
  /// Each text in `skipped` is a sentence about a key that the server does not use.
  case fetched(issuer: String, keys: Int, skipped: [String])
  /// With `keepsKeys`, the server goes on with the keys that it has.
  case failed(issuer: String, reason: String, keepsKeys: Bool)

  package var description: String {
    switch self {
    case .fetched(let issuer, 0, let skipped):
      (["\(issuer) publishes no key that the server can use, so none of its tokens is valid."] + skipped)
        .joined(separator: " ")
    case .fetched(let issuer, let keys, let skipped):
      (["\(issuer) publishes \(keys) \(keys == 1 ? "key" : "keys")."] + skipped).joined(separator: " ")
    case .failed(let issuer, let reason, true):
      "The keys of \(issuer) cannot be fetched: \(reason). The server goes on with the keys that it has."
    case .failed(let issuer, let reason, false):
      "The keys of \(issuer) cannot be fetched: \(reason). Until a fetch succeeds, requests with its tokens get 503."
    }
  }
}
