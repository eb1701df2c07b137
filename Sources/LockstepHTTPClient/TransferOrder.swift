import Synchronization

/// What is to be sent, by whoever waits for it.
final class TransferOrder: Sendable {
  let body: [UInt8]
  let type: String
  let url: String
  private let cancelled = Atomic(false)

  init(body: [UInt8], type: String, url: String) {
    self.body = body
    self.type = type
    self.url = url
  }

  /// Whether nobody waits for it any more. It may be so before the order has even arrived.
  var isCancelled: Bool { cancelled.load(ordering: .acquiring) }

  func cancel() { cancelled.store(true, ordering: .releasing) }
}
