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

  typealias Handle = UnsafeMutablePointer<lockstep_transfer>

  private struct Transfer: Sendable {
    let request: TransferRequest
    let continuation: Continuation
  }

  private struct Shared: Sendable {
    /// Transfers that have not started.
    var new: [Transfer] = []
    /// The requests of all transfers that are new or running.
    var unfinished: [ObjectIdentifier: TransferRequest] = [:]
    var isClosed = false
  }

  let configuration: HTTPClient.Configuration
  let curl: CurlLibrary
  let multi: UnsafeMutableRawPointer
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

  var count: Int { shared.withLock { $0.unfinished.count } }

  // MARK: For any thread

  func start(_ request: TransferRequest, _ continuation: Continuation) {
    let limit = configuration.bounds.transfers
    let error: TransferError? = shared.withLock { shared in
      if shared.isClosed { return .shutDown }
      if shared.unfinished.count >= limit { return TransferError(.overloaded, "\(limit) transfers run already") }
      shared.new.append(Transfer(request: request, continuation: continuation))
      shared.unfinished[ObjectIdentifier(request)] = request
      return nil
    }
    if let error { continuation.resume(returning: .failure(error)) } else { wake() }
  }

  func cancel(_ request: TransferRequest) {
    request.cancel()
    wake()
  }

  func close() {
    shared.withLock { shared in
      shared.isClosed = true
      // libcurl waits for the end of a mail without returning to the loop, unless it is cancelled.
      for request in shared.unfinished.values { request.cancel() }
    }
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
    let request = transfer.request
    guard !request.isCancelled else { return complete(transfer, .failure(.cancelled)) }
    let handle: Handle?
    do throws(TransferError) {
      handle = if let mail = request.mail { startMail(request, mail) } else { try startHTTP(request) }
    } catch {
      return complete(transfer, .failure(error))
    }
    if let handle {
      running[handle] = transfer
    } else {
      complete(transfer, .failure(TransferError(.notBegun, "libcurl does not accept the transfer")))
    }
  }

  private func finish(_ running: inout [Handle: Transfer]) {
    while case let ending = lockstep_multi_ended(curl.functions, multi), let handle = ending.transfer {
      let result: Result<TransferResponse, TransferError> =
        ending.code == CURLE_OK
        ? .success(Self.response(of: handle, ending))
        : .failure(error(of: running[handle]?.request, ending))
      end(handle, &running, result)
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
    shared.withLock { _ = $0.unfinished.removeValue(forKey: ObjectIdentifier(transfer.request)) }
    transfer.continuation.resume(returning: result)
  }
}

final class TransferRequest: Sendable {
  let body: [UInt8]
  /// The type of the body; nil for a `GET`.
  let type: String?
  let url: String
  /// More lines of the head, separated by newlines.
  let fields: String
  /// Nil for an HTTP request.
  let mail: MailEnvelope?
  private let cancelled = Atomic(false)

  init(body: [UInt8] = [], type: String? = nil, url: String, fields: String = "", mail: MailEnvelope? = nil) {
    self.body = body
    self.type = type
    self.url = url
    self.fields = fields
    self.mail = mail
  }

  /// Whether the waiting task was cancelled, perhaps before the transfer started.
  var isCancelled: Bool { cancelled.load(ordering: .acquiring) }

  func cancel() { cancelled.store(true, ordering: .releasing) }
}

extension TransferError {
  fileprivate static let shutDown = TransferError(.cancelled, "The client has been shut down")
  static let cancelled = TransferError(.cancelled, "The task was cancelled")
}
