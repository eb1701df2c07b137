import LockstepCollections
import LockstepJSON
import LockstepStore
import LockstepTime

/// The mails about accounts: links to choose a new password, and links to prove an e-mail address.
///
/// A mail is an event in the outbox of the webhooks. Webhooks that are subscribed to it get it too,
/// so that a backend can send the mails instead of the server.
package final class AccountMail: Sendable {
  /// The network of the client that asks for a mail, and the languages that its user prefers.
  package struct Context: Sendable {
    package let network: ClientNetwork
    let languages: [String]

    /// `languages` are tags in lower case, the preferred one first.
    package init(from network: ClientNetwork, languages: [String]) {
      (self.network, self.languages) = (network, languages)
    }
  }

  /// An address that a user with the right password asks to prove.
  package struct AddressProofRequest: Sendable {
    let address: EmailAddress
    let session: LiveSession
    let passwordVersion: Int
  }

  /// The most languages of an event, and the longest tag.
  private static let (mostLanguages, longestTag) = (16, 35)

  package let queue: MailQueue
  let accounts: StoredAccounts
  /// Whether the server itself sends mails.
  let sendsMails: Bool
  private let preferred: @Sendable (UserID, _ accepted: [String]) async throws -> [String]

  /// `languages` returns the languages of a user, the best first. It gets those that the request
  /// accepts. The work of the queue runs on `executor`. When the server stops, it waits for `timeAtStop`.
  package init(
    _ accounts: StoredAccounts,
    sendsMails: Bool,
    timeAtStop: Duration,
    executor: (any TaskExecutor)?,
    languages: @escaping @Sendable (UserID, _ accepted: [String]) async throws -> [String]
  ) {
    (self.accounts, self.sendsMails, preferred) = (accounts, sendsMails, languages)
    let delay = accounts.configuration.mailDelay
    let bounds = delay.lowerBound.wholeMilliseconds...delay.upperBound.wholeMilliseconds
    queue = MailQueue(executor: executor, timeAtStop: timeAtStop) { .milliseconds(Int64.random(in: bounds)) }
  }

  /// Throws `noMail` unless the server or a webhook sends mails of this kind.
  package func expect(_ kind: MailLink.Kind) async throws(AccountsError) {
    if sendsMails { return }
    let type = kind.event
    guard try await accounts.read({ try WebhookRecords(connection: $0).isSubscribed(to: type) }) else {
      throw .noMail(type)
    }
  }

  // MARK: Asking for mails

  /// Queues a mail with a link to reset the password, if there is such an account. Call
  /// `queue.reserve(for:)` before.
  package func queueResetLink(for email: String, _ context: Context) {
    queue.add(from: context.network) { [self] in
      let key = StoredAccounts.addressKey(of: email)
      // A mail that is not sent does not count for the address, whose owner may ask for one.
      try await accounts.passwords.countMail([.mailNetwork(context.network)])
      guard let account = try await accounts.account(withKey: key), !account.isDisabled else { return }
      try await accounts.passwords.countMail([.mailAddress(ExactText("reset \(key)"))])
      let user = account.user.id
      let languages = await languages(of: user, context)
      try await send { connection in
        guard try connection.lock(user), let account = try UserRecords(connection: connection).account(user),
          !account.isDisabled, account.emailKey?.exact == key.exact, let email = account.user.email
        else { return }
        try self.add(.passwordReset, of: user, email, key: key, languages, in: connection)
      }
    }
  }

  /// Prepares to ask for the proof of an address. `check` runs before the password is hashed, and again
  /// in the transaction. Throws `invalid`, `wrongPassword`, `noPassword`, `tooManyAttempts`,
  /// `sessionEnded`.
  package func prepareProofRequest(
    of email: String,
    confirmedBy password: Password,
    in session: LiveSession,
    from network: ClientNetwork,
    if check: @escaping @Sendable (StoreConnection) throws -> Void
  ) async throws(AccountsError) -> PreparedAccountsWrite<AddressProofRequest> {
    let address: EmailAddress
    do { address = try EmailAddress(email) } catch { throw .invalid(Self.faults(in: email)) }
    let check = try await accounts.confirmed(password, in: session, from: network, if: check)
    return PreparedAccountsWrite { connection in
      try check(connection)
      let account = try StoredAccounts.account(of: session, from: connection)
      return (AddressProofRequest(address: address, session: session, passwordVersion: account.passwordVersion), [])
    }
  }

  package static func faults(in email: String) -> [FieldFault] {
    var check = FieldCheck()
    _ = check.value(at: "/email") { try EmailAddress(email) }
    return check.faults
  }

  /// Queues a mail with a link that proves the address, unless another user has it. Call
  /// `queue.reserve(for:)` before.
  package func queueProofLink(for request: AddressProofRequest, _ context: Context) {
    queue.add(from: context.network) { [self] in
      let (key, user) = (request.address.key, request.session.user)
      try await accounts.passwords.countMail([.mailNetwork(context.network), .mailSession(request.session.id)])
      if let other = try await accounts.account(withKey: key), other.user.id != user { return }
      try await accounts.passwords.countMail([.mailAddress(ExactText("proof \(key)"))])
      let languages = await languages(of: user, context)
      try await send { connection in
        guard try connection.lock(user), let account = try UserRecords(connection: connection).account(user),
          !account.isDisabled, account.passwordVersion == request.passwordVersion
        else { return }
        // The present address keeps its spelling.
        let email = account.emailKey?.exact == key.exact ? account.user.email : nil
        try self.add(.emailProof, of: user, email ?? request.address.text, key: key, languages, in: connection)
      }
    }
  }

  private func send(
    _ write: @escaping @Sendable (StoreConnection) throws -> Void
  ) async throws(AccountsError) {
    try await accounts.commit(
      PreparedAccountsWrite { connection in
        try write(connection)
        return ((), [])
      }
    )
  }

  /// Adds a link and the event that sends it.
  private func add(
    _ kind: MailLink.Kind,
    of user: UserID,
    _ email: String,
    key: String,
    _ languages: [String],
    in connection: StoreConnection
  ) throws {
    let now = accounts.now
    let end = Timestamp(millisecondsSince1970: now.millisecondsSince1970 + kind.event.lifetime.wholeMilliseconds)
    let event = WebhookEvent(
      kind.event,
      of: user,
      [
        "email": .string(email), "expiresAt": .string(end.description),
        "languages": .array(languages.map(JSON.string)),
      ],
      at: now
    )
    let link = MailLink(kind, of: user, email: email, key: key, until: end)
    try MailLinkRecords(connection: connection).insert(link, with: accounts.tokenIssuer.key.mailToken(of: event.id))
    let outbox = WebhookOutbox(connection: connection)
    // In the order of the rows' keys, so that two transactions never wait for each other.
    if sendsMails { try outbox.add(event, to: .mail) }
    try outbox.add(event)
  }

  /// The languages for a mail to the user, the preferred one first.
  func languages(of user: UserID, _ context: Context) async -> [String] {
    let all = (try? await preferred(user, context.languages)) ?? context.languages
    var found: [String] = []
    for tag in all.map({ $0.lowercased().replacing("_", with: "-") }) where !found.contains(tag) && Self.isTag(tag) {
      found.append(tag)
    }
    return Array(found.prefix(Self.mostLanguages))
  }

  private static func isTag(_ text: String) -> Bool {
    (1...longestTag).contains(text.utf8.count)
      && text.utf8.allSatisfy { byte in
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
          || byte == UInt8(ascii: "-")
      }
  }
}

extension MailLink.Kind {
  /// The event that sends links of this kind.
  package var event: WebhookEventType {
    switch self {
    case .passwordReset: .passwordReset
    case .emailProof: .emailProof
    }
  }
}
