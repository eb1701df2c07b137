import LockstepCollections
import LockstepStore

// The changes that an administrator makes to users. An operator's commands make the same ones.

extension StoredAccounts {
  /// A change of a user's account; nil for a member that stays.
  package struct AccountChange: Sendable {
    package var isDisabled: Bool?
    package var email: String?
    package var password: Password?

    package init() {}
  }

  /// The faults of a new user.
  package func faults(adding email: String, _ password: Password) -> [FieldFault] {
    check(adding: email, password).faults
  }

  /// The faults that do not depend on the user.
  package func faults(in change: AccountChange) -> [FieldFault] { check(change, storedAddress: nil).faults }

  func check(adding email: String, _ password: Password) -> (EmailAddress?, faults: [FieldFault]) {
    var check = FieldCheck()
    let address = check.value(at: "/email") { try EmailAddress(email) }
    check.add(configuration.passwordRules.faults(in: password, of: address), at: "/password")
    return (address, check.faults)
  }

  private func check(
    _ change: AccountChange,
    storedAddress: EmailAddress?
  ) -> (newAddress: EmailAddress?, faults: [FieldFault]) {
    var check = FieldCheck()
    let newAddress = change.email.flatMap { email in check.value(at: "/email") { try EmailAddress(email) } }
    if let password = change.password {
      check.add(configuration.passwordRules.faults(in: password, of: newAddress ?? storedAddress), at: "/password")
    }
    return (newAddress, check.faults)
  }

  /// Prepares to add a user, even if registration is closed. Throws `invalid`, `addressTaken`.
  package func prepareAdding(
    email: String,
    password: Password
  ) async throws(AccountsError) -> PreparedAccountsWrite<User> {
    let (given, faults) = check(adding: email, password)
    guard let address = given, faults.isEmpty else { throw .invalid(faults) }
    // Avoids a hash if the e-mail address is taken. The transaction checks the address again.
    if try await account(withKey: address.key) != nil { throw .addressTaken }
    let user = UserID(ids.next())
    let command = AdminCommand(.add(address, try await hasher.hash(password, for: .administrator)), user)
    return run([command]) { [minimum = configuration.passwordRules.minimumCharacters] connection in
      try ShortestPassword(connection: connection).lower(to: minimum)
      guard let added = try UserRecords(connection: connection).account(user) else { throw AccountsError.noSuchUser }
      return added.user
    }
  }

  /// Prepares to change an account. All sessions end with a new password, or if the user is disabled.
  /// `check` runs before a password is hashed, and again in the transaction. Throws `invalid`,
  /// `addressTaken`, `noSuchUser`.
  package func prepareChange(
    of user: UserID,
    _ change: AccountChange,
    if check: @escaping @Sendable (StoreConnection) throws -> Void = { _ in }
  ) async throws(AccountsError) -> PreparedAccountsWrite<Void> {
    var commands: [AdminCommand] = []
    let account: Account? =
      change.password == nil
      ? nil
      : try await read { connection in
        try check(connection)
        return try UserRecords(connection: connection).account(user)
      }
    let (newAddress, faults) = self.check(change, storedAddress: account?.user.email.flatMap { try? EmailAddress($0) })
    if !faults.isEmpty { throw .invalid(faults) }
    if change.password != nil, let account, account.user.email == nil, newAddress == nil {
      throw .invalid([FieldFault(pointer: "/password", detail: Self.passwordWithoutAddress)])
    }
    // The address comes first, because only this command can be refused after others have written.
    if let newAddress { commands.append(AdminCommand(.changeEmail(newAddress), user)) }
    if let password = change.password {
      commands.append(AdminCommand(.resetPassword(try await hasher.hash(password, for: .administrator)), user))
    }
    if let isDisabled = change.isDisabled { commands.append(AdminCommand(isDisabled ? .disable : .enable, user)) }
    let minimum = change.password == nil ? nil : configuration.passwordRules.minimumCharacters
    return run(commands) { connection in
      if let minimum { try ShortestPassword(connection: connection).lower(to: minimum) }
    }
    .checked(by: check)
  }

  /// Prepares to erase a user. Throws `noSuchUser`.
  package func prepareErase(of user: UserID) -> PreparedAccountsWrite<Void> {
    run([AdminCommand(.erase, user)]) { _ in }
  }

  /// Prepares to add the users whose address no user has. The value is the indices of the others.
  package func prepareImport(_ users: [ImportedUser]) -> PreparedAccountsWrite<[Int]> {
    PreparedAccountsWrite { [ids, now] connection in
      if users.contains(where: { $0.passwordHash != nil }) {
        try ShortestPassword(connection: connection).lower(to: ShortestPassword.imported)
      }
      let records = UserRecords(connection: connection)
      let taken = try users.indices.filter { index in
        let (user, id) = (users[index], UserID(ids.next()))
        let account = Account(id, user.address, user.passwordHash, at: user.createdAt ?? now)
        guard try records.insert(account) else { return true }
        if user.isEmailVerified { try records.setEmailVerified(id, at: now) }
        if user.isDisabled { _ = try records.setDisabled(id, since: now) }
        return false
      }
      return (taken, [])
    }
  }

  package static let passwordWithoutAddress =
    "The user has no e-mail address, so a password is of no use. Set an address too."

  private func run<Value: Sendable>(
    _ commands: [AdminCommand],
    value: @escaping @Sendable (StoreConnection) throws -> Value
  ) -> PreparedAccountsWrite<Value> {
    let now = now
    return PreparedAccountsWrite { connection in
      var ended: [EndedSession] = []
      for command in commands {
        let (outcome, sessions) = try command.run(in: connection, at: now)
        switch outcome {
        case .done: ended += sessions
        case .noSuchUser: throw AccountsError.noSuchUser
        case .addressTaken: throw AccountsError.addressTaken
        }
      }
      return (try value(connection), ended)
    }
  }
}
