// Sends mails and signs webhooks, for scripts/outgoing.
//
//   outgoing-sender mail RELAY SENDER KIND LANGUAGE RECIPIENT [CERTIFICATES]
//     sends a mail, and prints `sent`, or the kind of the error and its detail.
//   outgoing-sender sign ID SECRET…
//     prints the header fields of a webhook whose body is on stdin.

import LockstepMail
import LockstepTime
import LockstepWebhooks

func sendMail(_ words: [String]) async throws {
  guard words.count >= 5, let kind = MailKind(rawValue: words[2]) else { fatalError("see the head of this file") }
  let composer = MailComposer(
    templates: try MailTemplates(),
    sender: try MailSender(words[1]),
    publicURL: try PublicURL("https://notes.example.com")
  )
  var configuration = MailClient.Configuration(relay: try MailRelay(words[0]))
  configuration.authorities = words.dropFirst(5).first
  let client = try MailClient(configuration)
  let mail = composer.mail(
    kind,
    to: words[4],
    in: [words[3]],
    token: "a-Token_0123456789abcdefghijklmnopqrstuvwxyz",
    validFor: .seconds(1800),
    at: TimeSource.system.now(),
    id: String(UInt64.random(in: .min ... .max), radix: 36)
  )
  do throws(MailError) {
    try await client.send(mail, from: composer.sender.address, to: words[4])
    print("sent")
  } catch {
    print("\(error.kind) \(error.detail)")
  }
  client.shutDown()
}

func sign(_ words: [String]) throws {
  var body = ""
  while let line = readLine(strippingNewline: false) { body += line }
  let message = WebhookMessage(id: words[0], body: Array(body.utf8))
  let secrets = try words.dropFirst().map { text in try WebhookSecret(text) }
  for (name, value) in message.fields(at: TimeSource.system.now(), secrets: secrets) { print("\(name): \(value)") }
}

let words = Array(CommandLine.arguments.dropFirst())
if words.first == "mail" { try await sendMail(Array(words.dropFirst())) } else { try sign(Array(words.dropFirst())) }
