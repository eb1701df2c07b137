import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Sends requests with `URLSession`.
public final class URLSessionTransport: ClientTransport {
  private let server: URL
  private let session: URLSession

  /// A transport to the server at a URL such as `https://state.example.com`. Responses are never cached, and
  /// cookies are not kept.
  public init(_ server: URL, configuration: URLSessionConfiguration = .ephemeral) {
    configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
    configuration.urlCache = nil
    configuration.httpShouldSetCookies = false
    // A long poll must not keep the requests of the outbox waiting.
    configuration.httpMaximumConnectionsPerHost = max(configuration.httpMaximumConnectionsPerHost, 4)
    self.server = server
    session = URLSession(configuration: configuration)
  }

  deinit { session.invalidateAndCancel() }

  /// Sends a request.
  public func response(to request: ClientRequest) async throws -> ClientResponse {
    guard let url = URL(string: server.absoluteString.trimmingSuffix("/") + request.target) else {
      throw ClientFailure("\(server) is not the URL of a server.")
    }
    var message = URLRequest(url: url)
    message.httpMethod = request.method
    message.timeoutInterval = request.patience / .seconds(1)
    for (name, value) in request.fields { message.setValue(value, forHTTPHeaderField: name) }
    if let body = request.body { message.httpBody = Data(body) }
    let (data, response) = try await session.data(for: message)
    guard let response = response as? HTTPURLResponse else { throw ClientFailure("\(server) does not speak HTTP.") }
    var fields: [String: String] = [:]
    for case (let name as String, let value as String) in response.allHeaderFields { fields[name] = value }
    return ClientResponse(status: response.statusCode, fields: fields, body: [UInt8](data))
  }
}

extension String {
  fileprivate func trimmingSuffix(_ suffix: String) -> String {
    hasSuffix(suffix) ? String(dropLast(suffix.count)) : self
  }
}
