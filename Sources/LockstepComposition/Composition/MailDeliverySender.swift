import LockstepJSON
import LockstepLogging
import LockstepMail
import LockstepStore
import LockstepThreading
import LockstepTime
import LockstepWebhooks

/// Sends the deliveries of mail through the relay.
final class MailDeliverySender: DeliverySender {
  /// The most mails at a time. Relays limit the connections of a client.
  static let atOnce = 4

  private let client: MailClient
  private let composer: MailComposer
  private let now: @Sendable () -> Timestamp
  private let logger = LockedState(Logger.silent)

  /// Nil without a relay. Throws if libcurl is not available.
  init?(_ configuration: MailConfiguration, now: @escaping @Sendable () -> Timestamp) throws {
    guard let relay = configuration.relay, let sender = configuration.sender, let url = configuration.publicURL
    else { return nil }
    let templates = try configuration.templates ?? MailTemplates()
    composer = MailComposer(templates: templates, sender: sender, publicURL: url)
    var settings = MailClient.Configuration(relay: relay)
    settings.bounds.transfers = Self.atOnce
    client = try MailClient(settings)
    self.now = now
  }

  /// Logs failures from now on.
  func log(to logger: Logger, _ configuration: MailConfiguration) {
    self.logger.withLock { $0 = logger }
    logger.log(
      .info,
      "the server sends mails through this relay",
      [
        "relay": configuration.relay.map { .string("\($0)") } ?? .null, "from": .string(composer.sender.address),
        "publicURL": .string("\(composer.publicURL)"),
      ]
    )
  }

  func shutDown() { client.shutDown() }

  nonisolated(nonsending) func send(_ outgoing: OutgoingDelivery) async -> AttemptOutcome {
    let (delivery, data) = (outgoing.delivery, outgoing.data)
    guard let type = WebhookEventType(rawValue: delivery.type), let kind = MailKind(type),
      let email = data["email"]?.stringValue
    else { return AttemptOutcome(.rejected, error: "There is no such mail.") }
    // It may have waited for the user's deliveries before it.
    let age = now().millisecondsSince1970 - delivery.createdAt.millisecondsSince1970
    guard age < type.lifetime.wholeMilliseconds else {
      return failed(AttemptOutcome(.rejected, error: "The mail came too late to be sent."), delivery, "late")
    }
    let message = composer.mail(
      kind,
      to: email,
      in: data["languages"]?.arrayValue?.compactMap(\.stringValue) ?? [],
      token: data["token"]?.stringValue ?? "",
      validFor: type.lifetime,
      at: delivery.createdAt,
      id: delivery.id.description.filter { $0 != "-" }
    )
    do throws(MailError) {
      try await client.send(message, from: composer.sender.address, to: email)
      return AttemptOutcome(.delivered)
    } catch {
      let isAborted = error.kind == .cancelled || error.kind == .overloaded
      let result: AttemptOutcome.Kind = error.mayRetry ? .failed(retryAfter: nil) : .rejected
      let attempt = AttemptOutcome(result, error: "\(error)", isAborted: isAborted)
      return isAborted ? attempt : failed(attempt, delivery, "\(error.kind)")
    }
  }

  private func failed(_ outcome: AttemptOutcome, _ delivery: ClaimedDelivery, _ kind: String) -> AttemptOutcome {
    logger.withLock { $0 }.log(
      .warning,
      "an attempt to send a mail failed",
      [
        "kind": .string(kind), "mail": .string(delivery.type), "user": .string("\(delivery.user)"),
        "error": .string(outcome.error ?? ""),
      ]
    )
    return outcome
  }
}

extension MailKind {
  init?(_ type: WebhookEventType) {
    switch type {
    case .passwordReset: self = .passwordReset
    case .emailProof: self = .emailProof
    case .emailChanged: self = .emailChanged
    case .stateChanged, .userCreated, .userErased, .sessionEnded: return nil
    }
  }
}
