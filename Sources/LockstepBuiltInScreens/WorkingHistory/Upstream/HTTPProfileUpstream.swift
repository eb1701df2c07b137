import LockstepHTTPClient
import LockstepJSON
import LockstepReactor
import LockstepScreens
import LockstepThreading
import Synchronization

/// Sends profiles to an upstream by `POST`. The upstream accepts a profile with a 2xx status.
///
/// It follows no redirects, so that a profile goes only to the configured URL.
public final class HTTPProfileUpstream: ProfileUpstream {
  /// The first and the longest pause before the server asks an unreachable upstream again. Each pause is
  /// twice as long as the one before.
  static let pauses = (first: Duration.seconds(1), longest: Duration.seconds(30))

  /// Whether the upstream has responded to the last request, with any status. A request does not
  /// count if a request that was sent later has already ended.
  public let reachability = Reachability()
  private let url: UpstreamURL
  private let client: HTTPClient
  private let tasks = TaskScope()
  private let requests = Atomic<Int>(0)
  /// The outcome of the newest request that has ended.
  private let outcome = Mutex((request: 0, status: Reachability.Status.reachable))

  /// Starts a thread for transfers. Throws if libcurl or the thread is not available.
  public init(_ url: UpstreamURL, _ configuration: HTTPClient.Configuration) throws {
    self.url = url
    client = try HTTPClient(configuration)
  }

  var sending: Int { client.running }

  /// Sends the profile as JSON.
  nonisolated(nonsending) public func send(_ profile: OutgoingProfile) async throws(UpstreamError) -> AcceptedProfile {
    let request = requests.add(1, ordering: .relaxed).newValue
    let response: TransferResponse
    do throws(TransferError) {
      response = try await client.post(
        profile.json.encoded(),
        type: "application/json",
        fields: [("Idempotency-Key", profile.idempotencyKey)],
        to: url.text
      )
    } catch {
      if let status = Reachability.Status(after: error.kind) { note(status, after: request) }
      throw UpstreamError(error)
    }
    note(.reachable, after: request)
    let status = response.status
    switch status {
    case 200..<300: return AcceptedProfile(body: response.body)
    case 300..<400:
      throw UpstreamError(.refused(status: status), detail: "\(url) responded with the redirect \(status)")
    case 400..<500: throw UpstreamError(.refused(status: status), detail: "\(url) responded with \(status)")
    default: throw UpstreamError(.failed(status: status), detail: "\(url) responded with \(status)")
    }
  }

  private func note(_ status: Reachability.Status, after request: Int) {
    outcome.withLock { if request > $0.request { $0 = (request, status) } }
    // An update notifies every open form, so it happens outside the lock, and only if the status
    // differs. Another task may note a newer outcome meanwhile, so the loop compares again.
    while case let newest = outcome.withLock({ $0.status }), reachability.current != newest {
      reachability.update(newest)
    }
  }

  /// From now on, sends `GET` to an upstream that could not be reached until it responds. So open forms
  /// show that it is back without a save. Call this once.
  public func watch(by clock: any Clock<Duration>) {
    // A scope that was shut down has nothing to watch.
    try? tasks.start { [self] in
      for await status in reachability.values where status == .unreachable {
        var pause = Self.pauses.first
        while reachability.current == .unreachable {
          do { try await clock.sleep(for: pause) } catch { return }
          await ask()
          pause = min(pause * 2, Self.pauses.longest)
        }
      }
    }
  }

  private nonisolated(nonsending) func ask() async {
    let request = requests.add(1, ordering: .relaxed).newValue
    do throws(TransferError) {
      _ = try await client.get(url.text)
      note(.reachable, after: request)
    } catch {
      if let status = Reachability.Status(after: error.kind) { note(status, after: request) }
    }
  }

  /// Cancels running transfers and ends the thread. Blocks briefly. Do not call `send` afterwards.
  public func shutDown() {
    tasks.shutDown()
    client.shutDown()
  }
}

extension Reachability.Status {
  /// The status after a failed transfer; `nil` if the request may not have been sent.
  fileprivate init?(after failure: TransferError.Kind) {
    switch failure {
    case .name, .connection, .privateAddress, .encryption, .broken, .timeOut: self = .unreachable
    case .tooLong: self = .reachable
    case .login, .notBegun, .overloaded, .cancelled: return nil
    }
  }
}

extension UpstreamError {
  init(_ failure: TransferError) {
    let kind: Kind =
      switch failure.kind {
      case .name, .connection, .privateAddress, .encryption, .broken: .unreachable
      case .timeOut: .timedOut
      case .tooLong, .login, .notBegun: .failed(status: nil)
      case .overloaded: .overloaded
      case .cancelled: .cancelled
      }
    self.init(kind, detail: failure.description)
  }
}
