import LockstepHTTP
import LockstepHTTPClient
import LockstepJSON

/// Sends profiles to an upstream by `POST`. The upstream accepts a profile with a 2xx status.
///
/// It follows no redirects, so that a profile goes only to the configured URL.
public final class HTTPProfileUpstream: ProfileUpstream {
  private let url: UpstreamURL
  private let client: HTTPClient

  /// Starts a thread for transfers. Throws if libcurl or the thread is not available.
  package init(
    _ url: UpstreamURL,
    _ configuration: HTTPClient.Configuration = HTTPClient.Configuration(userAgent: "lockstep/\(lockstepVersion)")
  ) throws {
    self.url = url
    client = try HTTPClient(configuration)
  }

  var sending: Int { client.running }

  /// Sends the profile as JSON.
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
      throw UpstreamError(.refused(status: status), detail: "\(url) responded with the redirect \(status)")
    case 400..<500: throw UpstreamError(.refused(status: status), detail: "\(url) responded with \(status)")
    default: throw UpstreamError(.failed(status: status), detail: "\(url) responded with \(status)")
    }
  }

  /// Cancels running transfers and ends the thread. Blocks briefly. Do not call `send` afterwards.
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
