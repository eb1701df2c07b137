import LockstepAccounts
import LockstepHTTP
import LockstepLogging
import LockstepMail
import LockstepStore
import LockstepSync
import LockstepThreading
import LockstepTime
import LockstepWebhooks

/// The parts that send webhooks and mails.
struct DeliveryServices: Sendable {
  /// Sends the deliveries of webhooks and mails.
  let worker: DeliveryWorker
  let webhookSender: WebhookSender
  let mail: AccountMail
  /// Nil: the server sends no mails.
  private let mailSender: MailDeliverySender?
  private let now: @Sendable () -> Timestamp

  /// `languages` returns the languages of a user, the best first. It gets those that the request accepts.
  init(
    _ configuration: Configuration,
    _ storage: StorageServices,
    _ accounts: StoredAccounts,
    time: TimeSource,
    executor: (any TaskExecutor)?,
    languages: @escaping @Sendable (UserID, _ accepted: [String]) async throws -> [String]
  ) throws {
    now = time.now
    webhookSender = WebhookSender(
      userAgent: "lockstep/\(lockstepVersion)",
      allowsPrivateAddresses: configuration.webhookAllowPrivate,
      timeOut: configuration.outgoingTimes.delivery
    )
    mailSender = try MailDeliverySender(configuration.mail, now: time.now)
    worker = DeliveryWorker(
      readers: storage.store.readers,
      writer: storage.writer,
      webhooks: webhookSender,
      others: mailSender.map { [DeliveryWorker.OtherDestination(.mail, $0, atOnce: MailDeliverySender.atOnce)] } ?? [],
      secretMembers: { [tokenKey = storage.tokenKey] delivery in
        switch WebhookEventType(rawValue: delivery.type) {
        case .passwordReset, .emailProof: ["token": .string(tokenKey.mailToken(of: delivery.id).text)]
        default: [:]
        }
      },
      timeAtStop: configuration.outgoingTimes.deliveriesAtStop,
      now: time.now
    )
    mail = AccountMail(
      accounts,
      sendsMails: mailSender != nil,
      timeAtStop: configuration.outgoingTimes.mailsAtStop,
      executor: executor,
      languages: languages
    )
  }

  /// Logs what happens to mails.
  func logMail(to logger: Logger, _ configuration: MailConfiguration) {
    mailSender?.log(to: logger, configuration)
    // Clients can ask for many mails past a limit.
    let lastLimited = LockedState<Timestamp?>(nil)
    mail.queue.onFailure { [now] error in
      switch error as? AccountsError {
      case .tooManyAttempts:
        let now = now()
        let isDue = lastLimited.withLock { last in
          guard last.map({ now.millisecondsSince1970 - $0.millisecondsSince1970 >= 60_000 }) ?? true else {
            return false
          }
          last = now
          return true
        }
        if isDue { logger.log(.info, "a mail past a limit was not sent; further ones within a minute are not logged") }
      default:
        logger.log(.error, "a mail that a client has asked for could not be queued", ["error": .string("\(error)")])
      }
    }
  }

  func shutDown() {
    mailSender?.shutDown()
    webhookSender.shutDown()
  }
}
