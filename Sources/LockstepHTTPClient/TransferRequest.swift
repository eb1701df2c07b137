import Synchronization

/// The request of a transfer.
final class TransferRequest: Sendable {
  let body: [UInt8]
  let type: String
  let url: String
  private let cancelled = Atomic(false)

  init(body: [UInt8], type: String, url: String) {
    self.body = body
    self.type = type
    self.url = url
  }

  /// Whether its task was cancelled, perhaps before the transfer started.
  var isCancelled: Bool { cancelled.load(ordering: .acquiring) }

  func cancel() { cancelled.store(true, ordering: .releasing) }
}
