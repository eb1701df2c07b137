import LockstepHTTP
import LockstepHTTPClient
import LockstepJSON
import LockstepReactor
import LockstepTime
import Synchronization

/// Sends profiles to an upstream by `POST`. The upstream accepts a profile with a 2xx status.
///
/// It follows no redirects, so that a profile goes only to the configured URL.
public final class HTTPProfileUpstream: ProfileUpstream {
  /// The shortest time between two changes of the reachability, in nanoseconds, because all open forms
  /// follow it.
  private static let interval: Int64 = 1_000_000_000

  /// Whether the upstream has responded to the last request, with any status. It changes at most once
  /// a second.
  public let reachability = Reachability()
  private let url: UpstreamURL
  private let client: HTTPClient
  private let monotonic: @Sendable () -> Int64
  private let nextChange = Atomic<Int64>(.min)

  /// Starts a thread for transfers. Throws if libcurl or the thread is not available.
  package init(
    _ url: UpstreamURL,
    _ configuration: HTTPClient.Configuration = HTTPClient.Configuration(userAgent: "lockstep/\(lockstepVersion)"),
    monotonic: @escaping @Sendable () -> Int64 = TimeSource.system.monotonic
  ) throws {
    self.url = url
    self.monotonic = monotonic
    client = try HTTPClient(configuration)
  }

  var sending: Int { client.running }

  /// Sends the profile as JSON.
  nonisolated(nonsending) public func send(_ profile: OutgoingProfile) async throws(UpstreamError) -> AcceptedProfile {
    let response: TransferResponse
    do throws(TransferError) {
      response = try await client.post(
        profile.json.encoded(),
        type: "application/json",
        idempotencyKey: profile.idempotencyKey,
        to: url.text
      )
    } catch {
      let failure = UpstreamError(error)
      if failure.kind == .unreachable || failure.kind == .timedOut { note(.unreachable) }
      throw failure
    }
    note(.reachable)
    let status = response.status
    switch status {
    case 200..<300: return AcceptedProfile(body: response.body)
    case 300..<400:
      throw UpstreamError(.refused(status: status), detail: "\(url) responded with the redirect \(status)")
    case 400..<500: throw UpstreamError(.refused(status: status), detail: "\(url) responded with \(status)")
    default: throw UpstreamError(.failed(status: status), detail: "\(url) responded with \(status)")
    }
  }

  private func note(_ status: Reachability.Status) {
    guard reachability.current != status else { return }
    let (now, next) = (monotonic(), nextChange.load(ordering: .relaxed))
    guard now >= next,
      nextChange.compareExchange(expected: next, desired: now + Self.interval, ordering: .relaxed).exchanged
    else { return }
    reachability.update(status)
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
