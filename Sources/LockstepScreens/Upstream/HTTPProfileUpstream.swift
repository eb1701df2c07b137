import LockstepHTTP
import LockstepHTTPClient
import LockstepJSON

/// An upstream that gets profiles by `POST`, and takes one with any status of 2xx.
///
/// Redirects aren't followed: a profile goes where the operator said and nowhere else.
public final class HTTPProfileUpstream: ProfileUpstream {
  private let url: UpstreamURL
  private let client: HTTPClient

  /// An upstream, with a thread of its own for what is on its way.
  ///
  /// Throws, in words for the operator, when there is no libcurl or no thread.
  public convenience init(_ url: UpstreamURL, bounds: HTTPClient.Bounds = HTTPClient.Bounds()) throws {
    var configuration = HTTPClient.Configuration(userAgent: "lockstep/\(lockstepVersion)")
    configuration.bounds = bounds
    try self.init(url, configuration)
  }

  init(_ url: UpstreamURL, _ configuration: HTTPClient.Configuration) throws {
    self.url = url
    client = try HTTPClient(configuration)
  }

  /// How many profiles are on their way now.
  var sending: Int { client.running }

  /// See `ProfileUpstream`.
  nonisolated(nonsending) public func send(_ profile: OutgoingProfile) async throws(UpstreamError) {
    let status: Int
    do throws(TransferError) {
      status = try await client.post(profile.json.encoded(), type: "application/json", to: url.text)
    } catch {
      throw UpstreamError(error)
    }
    switch status {
    case 200..<300: return
    case 300..<400:
      throw UpstreamError(.refused(status: status), detail: "\(url) answers with the redirect \(status)")
    case 400..<500: throw UpstreamError(.refused(status: status), detail: "\(url) answers with \(status)")
    default: throw UpstreamError(.failed(status: status), detail: "\(url) answers with \(status)")
    }
  }

  /// Cancels what is on its way and ends the thread. Blocks for a moment. To be called when nobody sends any more.
  public func shutDown() { client.shutDown() }
}

extension UpstreamError {
  init(_ failure: TransferError) {
    let kind: Kind =
      switch failure.kind {
      case .name, .connection, .encryption, .broken: .unreachable
      case .timeOut: .timedOut
      case .tooLong, .notBegun: .failed(status: nil)
      case .overloaded: .overloaded
      case .cancelled: .cancelled
      }
    self.init(kind, detail: failure.description)
  }
}
