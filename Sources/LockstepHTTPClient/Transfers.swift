import CLockstepCurl
import Glibc
import LockstepThreading

/// The transfers of a client, and the loop that gets on with them.
///
/// `@unchecked Sendable`: only the thread in `run()` touches the multi handle, save for waking it, which libcurl lets any
/// thread do while the handle lives; and it lives as long as this object, which the thread and all callers hold. What
/// both sides share is in the monitor.
final class Transfers: @unchecked Sendable {
  typealias Continuation = CheckedContinuation<Result<Int, TransferError>, Never>

  private struct Waiting: Sendable {
    let order: TransferOrder
    let continuation: Continuation
  }

  private struct Shared: Sendable {
    /// What the thread hasn't taken yet.
    var new: [Waiting] = []
    /// All that isn't answered.
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
      throw LibraryUnavailableError(file: curl.file, reason: "there is no memory for it")
    }
    self.multi = multi
    self.configuration = configuration
  }

  deinit {
    // The thread has ended, since it held this object; it left no transfer behind.
    lockstep_multi_free(curl.functions, multi)
  }

  var count: Int { shared.withLock { $0.count } }

  // MARK: For any thread

  func start(_ order: TransferOrder, _ continuation: Continuation) {
    let limit = configuration.bounds.transfers
    let refusal: TransferError? = shared.withLock { shared in
      if shared.isClosed { return TransferError(.cancelled, "The client has been shut down") }
      if shared.count >= limit { return TransferError(.overloaded, "\(limit) transfers run already") }
      shared.new.append(Waiting(order: order, continuation: continuation))
      shared.count += 1
      return nil
    }
    if let refusal { continuation.resume(returning: .failure(refusal)) } else { wake() }
  }

  func cancel(_ order: TransferOrder) {
    order.cancel()
    wake()
  }

  func close() {
    shared.withLock { $0.isClosed = true }
    wake()
  }

  /// The thread sleeps either in the monitor or in libcurl.
  private func wake() {
    shared.wakeAll()
    lockstep_multi_wake(curl.functions, multi)
  }

  // MARK: For the thread alone

  /// Runs transfers until the client is closed.
  func run() {
    // OpenSSL writes to sockets without saying that it wants no signal where the other side is gone.
    var signals = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, SIGPIPE)
    pthread_sigmask(SIG_BLOCK, &signals, nil)

    var running: [UnsafeMutablePointer<lockstep_transfer>: Waiting] = [:]
    while let new = next(isIdle: running.isEmpty) {
      for waiting in new { begin(waiting, &running) }
      for (transfer, waiting) in running where waiting.order.isCancelled {
        end(transfer, &running, .failure(TransferError(.cancelled, "Nobody waits for it any more")))
      }
      let isWell = lockstep_multi_perform(curl.functions, multi) != 0
      finish(&running)
      guard !running.isEmpty else { continue }
      if !isWell || lockstep_multi_wait(curl.functions, multi) == 0 {
        // Out of memory or of descriptors: nobody is left waiting, and the thread doesn't go in circles.
        for transfer in running.keys {
          end(transfer, &running, .failure(TransferError(.broken, "libcurl can't go on")))
        }
      }
    }
    for transfer in running.keys {
      end(transfer, &running, .failure(TransferError(.cancelled, "The client has been shut down")))
    }
  }

  /// What is new; waited for where nothing else is to be done. Nil when the client is closed.
  private func next(isIdle: Bool) -> [Waiting]? {
    let (new, isClosed) = shared.wait { shared -> ([Waiting], Bool)? in
      guard !isIdle || !shared.new.isEmpty || shared.isClosed else { return nil }
      defer { shared.new = [] }
      return (shared.new, shared.isClosed)
    }
    guard isClosed else { return new }
    for waiting in new { answer(waiting, .failure(TransferError(.cancelled, "The client has been shut down"))) }
    return nil
  }

  private func begin(_ waiting: Waiting, _ running: inout [UnsafeMutablePointer<lockstep_transfer>: Waiting]) {
    let (order, bounds) = (waiting.order, configuration.bounds)
    guard !order.isCancelled else {
      answer(waiting, .failure(TransferError(.cancelled, "Nobody waits for it any more")))
      return
    }
    guard ["http://", "https://"].contains(where: { order.url.lowercased().hasPrefix($0) }) else {
      answer(waiting, .failure(TransferError(.notBegun, "The URL is neither of http nor of https")))
      return
    }
    let transfer = lockstep_post_begin(
      curl.functions,
      multi,
      order.url,
      order.type,
      configuration.userAgent,
      configuration.authorities,
      order.body,
      order.body.count,
      lockstep_bounds(
        connect_milliseconds: Self.milliseconds(bounds.connectTime),
        total_milliseconds: Self.milliseconds(bounds.totalTime),
        answer_bytes: bounds.answerBytes,
        ignores_proxies: configuration.usesProxies ? 0 : 1
      )
    )
    if let transfer {
      running[transfer] = waiting
    } else {
      answer(waiting, .failure(TransferError(.notBegun, "libcurl doesn't take the transfer")))
    }
  }

  /// Answers for those that have ended.
  private func finish(_ running: inout [UnsafeMutablePointer<lockstep_transfer>: Waiting]) {
    while case let ending = lockstep_multi_ended(curl.functions, multi), let transfer = ending.transfer {
      if ending.code == CURLE_OK {
        end(transfer, &running, .success(ending.status))
      } else {
        var text = [CChar](repeating: 0, count: Int(CURL_ERROR_SIZE))
        lockstep_ending_text(curl.functions, ending, &text, text.count)
        let failure = TransferError(TransferError.Kind(ending.code), CurlLibrary.text(text))
        end(transfer, &running, .failure(failure))
      }
    }
  }

  private func end(
    _ transfer: UnsafeMutablePointer<lockstep_transfer>,
    _ running: inout [UnsafeMutablePointer<lockstep_transfer>: Waiting],
    _ result: Result<Int, TransferError>
  ) {
    lockstep_transfer_end(curl.functions, multi, transfer)
    if let waiting = running.removeValue(forKey: transfer) { answer(waiting, result) }
  }

  private func answer(_ waiting: Waiting, _ result: Result<Int, TransferError>) {
    shared.withLock { $0.count -= 1 }
    waiting.continuation.resume(returning: result)
  }

  /// At least one: for libcurl 0 is no bound at all.
  private static func milliseconds(_ time: Duration) -> Int {
    let (seconds, attoseconds) = time.components
    return max(1, Int(clamping: min(seconds, 86_400) * 1000 + attoseconds / 1_000_000_000_000_000))
  }
}

extension TransferError.Kind {
  /// What libcurl's code says of a transfer that ended.
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
