import LockstepCollections
import LockstepJSON
import LockstepStore

// The use of the links in mails.

extension AccountMail {
  /// Prepares to set the password of the account that the link was sent to, and to end all its
  /// sessions. The address counts as verified, and the user's other links no longer work. Throws
  /// `noSuchLink`, `disabled`, `invalid`.
  package func prepareReset(
    _ token: MailToken,
    to password: Password,
    from network: ClientNetwork
  ) async throws(AccountsError) -> PreparedAccountsWrite<Void> {
    let (_, account) = try await accounts.read { try self.linked(.passwordReset, token, in: $0) }
    let faults = faults(inNew: password, of: account.user.email.flatMap { try? EmailAddress($0) })
    if !faults.isEmpty { throw .invalid(faults) }
    let hash = try await accounts.hasher.hash(password, for: .change(network))
    return PreparedAccountsWrite { [self] connection in
      let (link, _) = try locked(.passwordReset, token, in: connection)
      let (users, now) = (UserRecords(connection: connection), accounts.now)
      let ended = try SessionRecords(connection: connection).endAll(of: link.user, at: now)
      try users.changePassword(of: link.user, to: hash, at: now)
      try users.setEmailVerified(link.user, at: now)
      return ((), ended)
    }
  }

  /// The faults of a new password that do not depend on the user.
  package func faults(inNew password: Password) -> [FieldFault] { faults(inNew: password, of: nil) }

  private func faults(inNew password: Password, of address: EmailAddress?) -> [FieldFault] {
    accounts.configuration.passwordRules.faults(in: password, of: address)
      .map { FieldFault(pointer: "/password", detail: $0) }
  }

  /// Prepares to set the address that the link was sent to, which is then verified. The sessions go
  /// on. If the address changes, the old one gets a mail, and the user's other links no longer
  /// work. Throws `noSuchLink`, `disabled`, `addressTaken`.
  package func prepareProof(
    _ token: MailToken,
    _ context: Context
  ) async throws(AccountsError) -> PreparedAccountsWrite<Void> {
    let (link, account) = try await accounts.read { try self.linked(.emailProof, token, in: $0) }
    let notifiesOldAddress = sendsMails && account.emailKey != nil && !link.isTo(account)
    let languages = notifiesOldAddress ? await languages(of: link.user, context) : []
    return PreparedAccountsWrite { [self] connection in
      let (link, account) = try locked(.emailProof, token, in: connection)
      let (users, now) = (UserRecords(connection: connection), accounts.now)
      if link.isTo(account) {
        try MailLinkRecords(connection: connection).removeAll(.emailProof, of: link.user)
      } else {
        guard let address = try? EmailAddress(link.email) else { throw AccountsError.noSuchLink }
        guard try users.changeEmail(of: link.user, to: address) else { throw AccountsError.addressTaken }
      }
      try users.setEmailVerified(link.user, at: now)
      if sendsMails, !link.isTo(account), let old = account.user.email {
        let event = WebhookEvent(
          .emailChanged,
          of: link.user,
          ["email": .string(old), "languages": .array(languages.map(JSON.string))],
          at: now
        )
        try WebhookOutbox(connection: connection).add(event, to: .mail)
      }
      return ((), [])
    }
  }

  /// Like `linked`, with the user locked until the end of the transaction.
  private func locked(
    _ kind: MailLink.Kind,
    _ token: MailToken,
    in connection: StoreConnection
  ) throws -> (MailLink, Account) {
    guard let link = try MailLinkRecords(connection: connection).link(kind, with: token, at: accounts.now) else {
      throw AccountsError.noSuchLink
    }
    try connection.lock(link.user)
    // Another use of the token may have come first.
    return try linked(kind, token, in: connection)
  }

  /// The link with this token, and the account of its user. Throws `noSuchLink`, `disabled`.
  private func linked(
    _ kind: MailLink.Kind,
    _ token: MailToken,
    in connection: StoreConnection
  ) throws -> (MailLink, Account) {
    guard let link = try MailLinkRecords(connection: connection).link(kind, with: token, at: accounts.now),
      let account = try UserRecords(connection: connection).account(link.user),
      kind != .passwordReset || link.isTo(account)
    else { throw AccountsError.noSuchLink }
    // The client has the token from a mail of the account, so it may learn this.
    if account.isDisabled { throw AccountsError.disabled }
    return (link, account)
  }
}

extension MailLink {
  /// Whether the link was sent to the present address of the account.
  fileprivate func isTo(_ account: Account) -> Bool { account.emailKey?.exact == emailKey.exact }
}
