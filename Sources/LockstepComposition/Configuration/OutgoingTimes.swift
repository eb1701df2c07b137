import LockstepWebhooks

/// How long the server waits for other servers, and for mails and deliveries when it stops. Tests wait
/// longer, because a busy machine can delay everything.
package struct OutgoingTimes: Sendable {
  /// For an attempt to deliver an event to a webhook.
  package var delivery = WebhookSender.timeOut
  /// For a document of an issuer.
  package var issuer = Duration.seconds(10)
  /// For the attempts that run when the server stops.
  package var deliveriesAtStop = DeliveryWorker.timeAtStop
  /// For the mails that clients have asked for when the server stops.
  package var mailsAtStop = Duration.seconds(5)

  package init() {}

  /// The same time for everything.
  package init(all time: Duration) {
    (delivery, issuer, deliveriesAtStop, mailsAtStop) = (time, time, time, time)
  }
}
