import LockstepHTTPClient

/// Sends mails through a relay by SMTP, with libcurl.
///
/// - Each mail has its own connection, and takes at most 30 seconds.
/// - One thread sends all mails. libcurl waits for the relay's reply to a message without regard to
///   other transfers, so a relay that is slow there delays the other mails.
/// - TLS 1.2 or newer, with a certificate for the host, unless `MailRelay` says otherwise.
/// - No proxy is used.
/// - Cancelling a task in `send` aborts its mail within about a second. The relay may have the mail
///   by then.
package final class MailClient: Sendable {
  package struct Configuration: Sendable {
    package var relay: MailRelay
    /// For libcurl, connecting includes the login, and relays delay the reply to a wrong one.
    package var bounds = HTTPClient.Bounds(connectTime: .seconds(30), totalTime: .seconds(30), transfers: 4)
    /// A PEM file of certificates to trust instead of the system's.
    package var authorities: String?

    package init(relay: MailRelay) { self.relay = relay }
  }

  private let relay: MailRelay
  private let client: HTTPClient

  /// Throws `LibraryUnavailableError` if there is no libcurl, and `NamedThread.NotStarted` if the
  /// system has no more threads.
  package init(_ configuration: Configuration) throws {
    relay = configuration.relay
    var transfers = HTTPClient.Configuration(userAgent: "")
    transfers.bounds = configuration.bounds
    transfers.authorities = configuration.authorities
    transfers.usesProxies = false
    client = try HTTPClient(transfers)
  }

  package var running: Int { client.running }

  /// Sends a mail to one recipient. Returns when the relay has accepted it. Lines of the message end
  /// in CRLF. A sender and a recipient are addresses without a name and without angle brackets; only
  /// the recipient's may contain characters beyond ASCII.
  nonisolated(nonsending) package func send(
    _ message: [UInt8],
    from sender: String,
    to recipient: String
  ) async throws(MailError) {
    guard Self.isAddress(sender), sender.utf8.allSatisfy({ $0 < 0x80 }), let domain = sender.split(separator: "@").last
    else { throw MailError(.invalid, "The sender is not an e-mail address in ASCII") }
    guard Self.isAddress(recipient) else { throw MailError(.invalid, "The recipient is not an e-mail address") }
    guard Self.hasWholeLines(message) else { throw MailError(.invalid, "A line of the mail does not end in CRLF") }
    // libcurl greets the relay with the path of the URL.
    let envelope = MailEnvelope(
      sender: sender,
      recipient: recipient,
      login: relay.login.map { ($0.user, $0.password) },
      requiresTLS: relay.requiresTLS
    )
    do throws(TransferError) {
      try await client.send(message, in: envelope, through: "\(relay)/\(domain)")
    } catch {
      throw MailError(error)
    }
  }

  /// Cancels running mails and refuses later ones. Blocks its caller for about a second at most.
  package func shutDown() { client.shutDown() }

  /// Whether the text can stand in a command of SMTP. The relay decides about the rest.
  private static func isAddress(_ text: String) -> Bool {
    let parts = text.utf8.split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false)
    return text.utf8.count <= 254 && parts.count == 2 && parts.allSatisfy { !$0.isEmpty }
      && text.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F && !"<>".utf8.contains($0) }
  }

  /// Relays disagree about a CR or LF of its own. One of them could take the rest for another mail.
  private static func hasWholeLines(_ message: [UInt8]) -> Bool {
    let (cr, lf) = (UInt8(ascii: "\r"), UInt8(ascii: "\n"))
    var last: UInt8 = 0
    for byte in message {
      if (last == cr) != (byte == lf) || byte == 0 { return false }
      last = byte
    }
    return last == lf
  }
}
