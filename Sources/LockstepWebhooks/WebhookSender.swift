import LockstepHTTPClient
import LockstepJSON
import LockstepStore
import LockstepThreading
import LockstepTime

/// Sends deliveries to webhooks by HTTP, signed after Standard Webhooks.
package final class WebhookSender: DeliverySender {
  /// How long an attempt may take.
  package static let timeOut = Duration.seconds(15)

  private let configuration: HTTPClient.Configuration
  /// Nil until the first delivery, because libcurl takes memory.
  private let client = LockedState<HTTPClient?>(nil)

  package init(userAgent: String, allowsPrivateAddresses: Bool, timeOut: Duration = WebhookSender.timeOut) {
    var configuration = HTTPClient.Configuration(userAgent: userAgent)
    configuration.addresses = allowsPrivateAddresses ? .any : .public
    configuration.usesProxies = allowsPrivateAddresses
    configuration.bounds.totalTime = timeOut
    configuration.bounds.responseBytes = 64 * 1024
    configuration.bounds.cutsBodies = true
    // Those of deleted webhooks may still run.
    configuration.bounds.transfers = DeliveryPace.usual * (WebhookRecords.most + 4)
    self.configuration = configuration
  }

  /// Whether requests to this host of a URL are always refused, because it is written as an address
  /// that is not public.
  package func refuses(host: String) -> Bool {
    configuration.addresses == .public && PublicAddresses.isExcluded(host: host)
  }

  package func shutDown() { client.withLock { $0.take() }?.shutDown() }

  private func open() throws -> HTTPClient {
    try client.withLock { client in
      if let client { return client }
      let new = try HTTPClient(configuration)
      client = new
      return new
    }
  }

  nonisolated(nonsending) package func send(_ outgoing: OutgoingDelivery) async -> AttemptOutcome {
    guard let webhook = outgoing.webhook else {
      return AttemptOutcome(.failed(retryAfter: nil), error: "There is no such webhook.")
    }
    let delivery = outgoing.delivery
    let message = WebhookMessage(
      id: delivery.id.description,
      body: WebhookMessage.body(type: delivery.type, at: delivery.createdAt, data: outgoing.data)
    )
    let fields = message.fields(at: outgoing.at, secrets: webhook.secrets(at: outgoing.at))
    let client: HTTPClient
    do { client = try open() } catch { return AttemptOutcome(.failed(retryAfter: nil), error: "\(error)") }
    do {
      let response = try await client.post(message.body, type: "application/json", fields: fields, to: webhook.url)
      let outcome = AttemptOutcome.Kind(status: response.status, retryAfter: response.retryAfter)
      return AttemptOutcome(outcome, status: response.status)
    } catch {
      return AttemptOutcome(
        .failed(retryAfter: nil),
        error: "\(error)",
        isAborted: error.kind == .cancelled || error.kind == .overloaded
      )
    }
  }
}

extension WebhookRecord {
  /// The secrets that sign at this time, the newer one first.
  func secrets(at now: Timestamp) -> [WebhookSecret] {
    var texts = [secret]
    if let oldSecret, now < oldSecret.until { texts.append(oldSecret.text) }
    return texts.compactMap { try? WebhookSecret($0) }
  }
}
