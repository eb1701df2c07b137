import LockstepHTTPClient
import LockstepJSON
import LockstepThreading

/// Gets documents of issuers by HTTP. A test has its own.
package protocol DocumentSource: Sendable {
  nonisolated(nonsending) func get(_ url: String) async throws(TransferError) -> TransferResponse
}

extension HTTPClient: DocumentSource {}

extension HTTPClient.Configuration {
  /// For the documents of issuers, each of which may take `timeOut`.
  package static func forKeys(userAgent: String, timeOut: Duration = .seconds(10)) -> HTTPClient.Configuration {
    var configuration = HTTPClient.Configuration(userAgent: userAgent)
    configuration.bounds.responseBytes = KeyFetcher.longestDocument
    configuration.bounds.totalTime = timeOut
    return configuration
  }
}

/// Why there is no key set. Completes a sentence.
struct KeyFetchError: Error, Equatable {
  let reason: String

  init(_ reason: String) { self.reason = reason }
}

/// Fetches the key set of an issuer, after its discovery document if no URL is configured.
final class KeyFetcher: Sendable {
  static let longestDocument = 512 * 1024

  private let trusted: TrustedIssuer
  private let source: any DocumentSource
  /// The URL of the key set, once it is known. Discovered again after a failure.
  private let keysURL: LockedState<String?>

  init(_ trusted: TrustedIssuer, source: any DocumentSource) {
    (self.trusted, self.source) = (trusted, source)
    keysURL = LockedState(trusted.keysURL)
  }

  nonisolated(nonsending) func fetch() async throws(KeyFetchError) -> (keys: KeySet, maxAge: Duration?) {
    let url: String
    if let known = keysURL.withLock({ $0 }) { url = known } else { url = try await discover() }
    do throws(KeyFetchError) {
      let (json, maxAge) = try await document(url)
      guard let keys = KeySet(json) else { throw KeyFetchError("\(url) is not a key set: it has no array “keys”") }
      keysURL.withLock { $0 = url }
      return (keys, maxAge)
    } catch {
      keysURL.withLock { $0 = trusted.keysURL }
      throw error
    }
  }

  nonisolated(nonsending) private func discover() async throws(KeyFetchError) -> String {
    let url = trusted.discoveryURL
    let (json, _) = try await document(url)
    guard let issuer = json["issuer"]?.stringValue else { throw KeyFetchError("\(url) has no issuer") }
    guard issuer.hasSameBytes(as: trusted.name) else {
      // The name is from outside.
      let name = String(issuer.prefix(200)).filter { !$0.isNewline }
      throw KeyFetchError(
        "\(url) is of the issuer \(name); write exactly that name in --identity, if it is the right one"
      )
    }
    guard let keys = json["jwks_uri"]?.stringValue else { throw KeyFetchError("\(url) has no jwks_uri") }
    if let fault = IssuerURL.fault(keys) { throw KeyFetchError("the jwks_uri in \(url) \(fault)") }
    return keys
  }

  nonisolated(nonsending) private func document(_ url: String) async throws(KeyFetchError) -> (JSON, Duration?) {
    let response: TransferResponse
    do throws(TransferError) {
      response = try await source.get(url)
    } catch {
      throw KeyFetchError("\(url): \(error)")
    }
    guard response.status == 200 else { throw KeyFetchError("\(url) responded with \(response.status)") }
    guard response.body.count <= Self.longestDocument else { throw KeyFetchError("\(url) is too long") }
    guard let json = try? JSON(parsing: response.body, maximumDepth: 16) else {
      throw KeyFetchError("\(url) is not JSON")
    }
    return (json, response.maxAge)
  }
}
