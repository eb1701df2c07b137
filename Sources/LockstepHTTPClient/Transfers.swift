import CLockstepCurl
import Glibc
import LockstepThreading
import Synchronization

/// The transfers of a client, and the loop that runs them.
///
/// `@unchecked Sendable`: only the thread in `run()` uses the multi handle. Other threads only wake
/// it, which libcurl permits. The handle lives as long as this object.
final class Transfers: @unchecked Sendable {
  typealias Continuation = CheckedContinuation<Result<TransferResponse, TransferError>, Never>

  private typealias Handle = UnsafeMutablePointer<lockstep_transfer>

  private struct Transfer: Sendable {
    let request: TransferRequest
    let continuation: Continuation
  }

  private struct Shared: Sendable {
    /// Transfers that have not started.
    var new: [Transfer] = []
    /// How many transfers are new or running.
    var count = 0
    var isClosed = false
  }

  private let configuration: HTTPClient.Configuration
  private let curl: CurlLibrary
  private let multi: UnsafeMutableRawPointer
  private let shared = LockedState(Shared())

  init(_ configuration: HTTPClient.Configuration) throws(LibraryUnavailableError) {
    curl = try CurlLibrary()
    guard let multi = lockstep_multi_make(curl.functions) else {
      throw LibraryUnavailableError(file: curl.file, reason: "out of memory")
    }
    self.multi = multi
    self.configuration = configuration
  }

  deinit {
    // The thread retained this object until it had ended all transfers.
    lockstep_multi_free(curl.functions, multi)
  }

  var count: Int { shared.withLock { $0.count } }

  // MARK: For any thread

  func start(_ request: TransferRequest, _ continuation: Continuation) {
    let limit = configuration.bounds.transfers
    let error: TransferError? = shared.withLock { shared in
      if shared.isClosed { return .shutDown }
      if shared.count >= limit { return TransferError(.overloaded, "\(limit) transfers run already") }
      shared.new.append(Transfer(request: request, continuation: continuation))
      shared.count += 1
      return nil
    }
    if let error { continuation.resume(returning: .failure(error)) } else { wake() }
  }

  func cancel(_ request: TransferRequest) {
    request.cancel()
    wake()
  }

  func close() {
    shared.withLock { $0.isClosed = true }
    wake()
  }

  /// The thread waits either for `shared` or in libcurl.
  private func wake() {
    shared.wakeAll()
    lockstep_multi_wake(curl.functions, multi)
  }

  // MARK: For the thread alone

  func run() {
    // OpenSSL may write to a closed socket, which raises SIGPIPE.
    var signals = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, SIGPIPE)
    pthread_sigmask(SIG_BLOCK, &signals, nil)

    var running: [Handle: Transfer] = [:]
    while let new = next(isIdle: running.isEmpty) {
      for transfer in new { begin(transfer, &running) }
      for (handle, transfer) in running where transfer.request.isCancelled {
        end(handle, &running, .failure(.cancelled))
      }
      let isWell = lockstep_multi_perform(curl.functions, multi) != 0
      finish(&running)
      guard !running.isEmpty else { continue }
      if !isWell || lockstep_multi_wait(curl.functions, multi) == 0 {
        // libcurl has no memory or descriptors left. If the transfers went on, their callers would
        // wait and this loop would spin.
        for handle in running.keys {
          end(handle, &running, .failure(TransferError(.broken, "libcurl cannot continue")))
        }
      }
    }
    for handle in running.keys { end(handle, &running, .failure(.shutDown)) }
  }

  /// The new transfers; nil once the client is closed. If no transfer runs, waits for a new one.
  private func next(isIdle: Bool) -> [Transfer]? {
    let (new, isClosed) = shared.wait { shared -> ([Transfer], Bool)? in
      guard !isIdle || !shared.new.isEmpty || shared.isClosed else { return nil }
      defer { shared.new = [] }
      return (shared.new, shared.isClosed)
    }
    guard isClosed else { return new }
    for transfer in new { complete(transfer, .failure(.shutDown)) }
    return nil
  }

  private func begin(_ transfer: Transfer, _ running: inout [Handle: Transfer]) {
    let (request, bounds) = (transfer.request, configuration.bounds)
    guard !request.isCancelled else { return complete(transfer, .failure(.cancelled)) }
    guard ["http://", "https://"].contains(where: { request.url.lowercased().hasPrefix($0) }) else {
      return complete(transfer, .failure(TransferError(.notBegun, "The URL is neither http nor https")))
    }
    let handle = lockstep_transfer_begin(
      curl.functions,
      multi,
      request.url,
      request.type,
      request.field,
      configuration.userAgent,
      configuration.authorities,
      request.body,
      request.body.count,
      lockstep_bounds(
        connect_milliseconds: Self.milliseconds(bounds.connectTime),
        total_milliseconds: Self.milliseconds(bounds.totalTime),
        response_bytes: bounds.responseBytes,
        ignores_proxies: configuration.usesProxies ? 0 : 1
      )
    )
    if let handle {
      running[handle] = transfer
    } else {
      complete(transfer, .failure(TransferError(.notBegun, "libcurl does not accept the transfer")))
    }
  }

  private func finish(_ running: inout [Handle: Transfer]) {
    while case let ending = lockstep_multi_ended(curl.functions, multi), let handle = ending.transfer {
      if ending.code == CURLE_OK {
        end(handle, &running, .success(Self.response(of: handle, status: ending.status)))
      } else {
        var text = [CChar](repeating: 0, count: Int(CURL_ERROR_SIZE))
        lockstep_ending_text(curl.functions, ending, &text, text.count)
        end(handle, &running, .failure(TransferError(TransferError.Kind(ending.code), CurlLibrary.text(text))))
      }
    }
  }

  private func end(
    _ handle: Handle,
    _ running: inout [Handle: Transfer],
    _ result: Result<TransferResponse, TransferError>
  ) {
    lockstep_transfer_end(curl.functions, multi, handle)
    if let transfer = running.removeValue(forKey: handle) { complete(transfer, result) }
  }

  private func complete(_ transfer: Transfer, _ result: Result<TransferResponse, TransferError>) {
    shared.withLock { $0.count -= 1 }
    transfer.continuation.resume(returning: result)
  }

  private static func response(of handle: Handle, status: Int) -> TransferResponse {
    // The field ends with a zero byte.
    let cacheControl = withUnsafeBytes(of: handle.pointee.cache_control) {
      String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
    }
    return TransferResponse(
      status: status,
      body: Array(UnsafeRawBufferPointer(start: handle.pointee.body, count: handle.pointee.body_length)),
      maxAge: TransferResponse.maxAge(in: cacheControl)
    )
  }

  /// At least 1, because libcurl takes 0 as no limit, and at most a day.
  private static func milliseconds(_ time: Duration) -> Int { Int(min(max(time / .milliseconds(1), 1), 86_400_000)) }
}

final class TransferRequest: Sendable {
  let body: [UInt8]
  /// The type of the body; nil for a `GET`.
  let type: String?
  let url: String
  /// One more line of the head.
  let field: String?
  private let cancelled = Atomic(false)

  init(body: [UInt8] = [], type: String? = nil, url: String, field: String? = nil) {
    self.body = body
    self.type = type
    self.url = url
    self.field = field
  }

  /// Whether the waiting task was cancelled, perhaps before the transfer started.
  var isCancelled: Bool { cancelled.load(ordering: .acquiring) }

  func cancel() { cancelled.store(true, ordering: .releasing) }
}

extension TransferError {
  fileprivate static let shutDown = TransferError(.cancelled, "The client has been shut down")
  fileprivate static let cancelled = TransferError(.cancelled, "The task was cancelled")
}

extension TransferError.Kind {
  init(_ code: CURLcode) {
    switch code {
    case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY: self = .name
    case CURLE_COULDNT_CONNECT: self = .connection
    case CURLE_OPERATION_TIMEDOUT: self = .timeOut
    case CURLE_WRITE_ERROR: self = .tooLong
    case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CERTPROBLEM,
      CURLE_SSL_CIPHER, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_SHUTDOWN_FAILED,
      CURLE_SSL_ENGINE_NOTFOUND, CURLE_SSL_ENGINE_SETFAILED, CURLE_SSL_ENGINE_INITFAILED, CURLE_USE_SSL_FAILED:
      self = .encryption
    case CURLE_OUT_OF_MEMORY, CURLE_URL_MALFORMAT: self = .notBegun
    default: self = .broken
    }
  }
}
