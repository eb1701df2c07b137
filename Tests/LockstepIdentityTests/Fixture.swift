import LockstepHTTPClient
import LockstepJSON
import LockstepTestSupport
import LockstepThreading
import LockstepTime

@testable import LockstepIdentity

/// The documents of issuers, without a network.
final class FakeSource: DocumentSource {
  struct State: Sendable {
    var responses: [String: Result<TransferResponse, TransferError>] = [:]
    var requests: [String] = []
    /// Requests wait as long as this is set.
    var isHeld = false
    var held: [CheckedContinuation<Void, Never>] = []
  }

  private let state = LockedState(State())

  var requests: [String] { state.withLock { $0.requests } }

  var heldCount: Int { state.withLock { $0.held.count } }

  func respond(to url: String, with json: JSON, status: Int = 200, maxAge: Duration? = nil) {
    let response = TransferResponse(status: status, body: json.encoded(), maxAge: maxAge)
    state.withLock { $0.responses[url] = .success(response) }
  }

  func respond(to url: String, with bytes: [UInt8]) {
    state.withLock { $0.responses[url] = .success(TransferResponse(status: 200, body: bytes)) }
  }

  func publish(_ issuer: FakeIssuer, maxAge: Duration? = nil) {
    respond(to: "\(issuer.url)/.well-known/openid-configuration", with: issuer.discovery)
    respond(to: issuer.keysURL, with: issuer.keySet, maxAge: maxAge)
  }

  /// Every request fails until `publish`.
  func goDown() { state.withLock { $0.responses = [:] } }

  func hold() { state.withLock { $0.isHeld = true } }

  func release() {
    let held = state.withLock { state in
      defer { state.held = [] }
      state.isHeld = false
      return state.held
    }
    for request in held { request.resume() }
  }

  nonisolated(nonsending) func get(_ url: String) async throws(TransferError) -> TransferResponse {
    await withCheckedContinuation { continuation in
      let goesOn = state.withLock { state in
        state.requests.append(url)
        if state.isHeld { state.held.append(continuation) }
        return !state.isHeld
      }
      if goesOn { continuation.resume() }
    }
    guard let response = state.withLock({ $0.responses[url] }) else {
      throw TransferError(.connection, "connection refused")
    }
    return try response.get()
  }
}

/// A verifier with a fake issuer, in virtual time.
struct Fixture {
  var issuer = FakeIssuer()
  let source = FakeSource()
  let time = ManualTime()
  let events = LockedState<[KeyEvent]>([])
  let tasks = TaskScope()
  let verifier: TokenVerifier

  /// Publishes the keys of `issuer`. `options` replaces the value of `--identity`.
  init(_ issuer: FakeIssuer = FakeIssuer(), options: [String]? = nil, capacity: Int = 1000) throws {
    self.issuer = issuer
    source.publish(issuer)
    verifier = try TokenVerifier(
      TrustedIssuer.list(parsing: options ?? [issuer.option]),
      source: source,
      tasks: tasks,
      time: time.serverTime,
      capacity: capacity,
      report: { [events] event in events.withLock { $0.append(event) } }
    )
  }

  var now: Timestamp { time.serverTime.now() }

  func token(
    claims: [String: JSON?] = [:],
    header: [String: JSON?] = [:],
    key: TestKey? = nil,
    algorithm: String? = nil
  ) -> String {
    issuer.token(now: now, claims: claims, header: header, key: key, algorithm: algorithm)
  }

  func verify(_ token: String) async -> Result<VerifiedIdentity, TokenRefusal> {
    do throws(TokenRefusal) {
      return .success(try await verifier.verify(Array(token.utf8)))
    } catch {
      return .failure(error)
    }
  }

  /// The fault of a token, or nil if it is valid.
  func fault(_ token: String) async -> InvalidTokenError? {
    guard case .failure(.notValid(let fault)) = await verify(token) else { return nil }
    return fault
  }

  func remembered(_ token: String) -> VerifiedIdentity? {
    Array(token.utf8).withUnsafeBytes { verifier.remembered($0) }
  }
}

extension Result {
  var isSuccess: Bool { if case .success = self { true } else { false } }
}
