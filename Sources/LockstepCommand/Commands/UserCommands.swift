import Glibc
import LockstepComposition
import LockstepAccounts
import LockstepMaintenance
import LockstepThreading

/// `lockstep user …`: manages the accounts of a store, with or without a running server.
enum UserCommands {
  struct Settings: CommandSettings {
    var configuration = Configuration()
    var user = ""
    var json = false
    var to: String?
    var isConfirmed = false
    var location: StoreLocation { configuration.location }
  }

  static func entries(_ modules: [UserModule]) -> [CommandEntry] {
    [list, add, UserImportCommand.entry, disable, enable, resetPassword, export(modules), erase]
  }

  private static let user = CommandOption<Settings>("<user>", \.user, .text("<user>"))
  private static let store = [
    Option.data.within(\Settings.configuration), Option.store.within(\Settings.configuration),
  ]
  private static let passwordMinimum = ServeOptions.passwordMinimum.within(\Settings.configuration)
  private static let userNotes = "<user> is an e-mail address, or an id from `lockstep user list`."
  private static let passwordNotes = """
    On a terminal, the command asks for the password and does not show it. Otherwise the password is the
    first line of standard input.
    """
  private static let serverNotes = """
    If a server uses the store, this command writes an admin command into the store, and waits until the
    server has run it, usually a second or two. Ctrl-C withdraws an admin command that has not run yet,
    and prints whether it had already run. If no server uses the store, this command does the work itself.
    """

  // MARK: Reading

  private static let list = CommandEntry(
    CommandSyntax<Settings>(
      name: "user list",
      summary: "List all users.",
      about: """
        List every user of a store in the order in which they signed up: id, enabled or disabled, number
        of sessions (devices), time of sign-up, time of the last use, and e-mail address.
        """,
      options: store + [.flag("--json", \.json, "Print each user as a line of JSON.")],
      exclusive: [storeOptionNames]
    )
  ) { settings in
    let accounts = try AccountAdministrator(of: settings.location, pause: CurrentThread.sleep)
    var last: UserID?
    while true {
      // No transaction is open while this loop prints, because the reader of a pipe may be slow.
      let page = try accounts.users(after: last)
      guard let end = page.last else { return .success }
      last = end.user.id
      try Terminal.show(page.map { (settings.json ? UserLine.json($0) : UserLine.text($0)) + "\n" }.joined())
    }
  }

  private static func export(_ modules: [UserModule]) -> CommandEntry {
    CommandEntry(
      CommandSyntax<Settings>(
        name: "user export",
        summary: "Write everything stored about a user.",
        about: """
          Write everything that is stored about a user as one JSON document: the response of GET
          /v1/me/export. A server may use the store at the same time.
          """,
        notes: userNotes,
        operands: [user],
        options: store + [
          .file("--to", \.to, "A new file that only its owner can read. Default: standard output.")
        ],
        exclusive: [storeOptionNames]
      )
    ) { settings in
      let user = try AccountAdministrator(of: settings.location, pause: CurrentThread.sleep).user(settings.user)
      let output = try settings.to.map { try OutputFile($0) }
      defer { output?.removeUnlessFinished() }
      let export = StoreExport(of: settings.location, modules: modules)
      let escaping = Terminal.isTerminal(STDOUT_FILENO) ? LockedState(TerminalJSON()) : nil
      try CurrentThread.run {
        try await export.write(user.id) { bytes in
          if let output { return try output.write(bytes) }
          try Terminal.show(escaping?.withLock { $0.next(bytes) } ?? bytes)
        }
      }
      guard let output else { return Terminal.print("\n") }
      try output.finish()
      return Terminal.print("\(output.path): everything stored about \(user.name)\n")
    }
  }

  // MARK: Admin commands

  private static let add = CommandEntry(
    CommandSyntax<Settings>(
      name: "user add",
      summary: "Add a user, even if registration is closed.",
      about: "Add a user with an e-mail address and a password, even if registration is closed. Prints the user's id.",
      notes: "\(passwordNotes)\n\(serverNotes)",
      operands: [CommandOption("<address>", \.user, .emailAddress)],
      options: store + [passwordMinimum],
      exclusive: [storeOptionNames]
    )
  ) { settings in
    let signals = try SignalInterceptor()
    let accounts = try AccountAdministrator(of: settings.location, interruption: signals, pause: CurrentThread.sleep)
    let address = try EmailAddress(settings.user)
    // Refuses a taken e-mail address before the operator types a password.
    do {
      _ = try accounts.user(address.text)
      throw MaintenanceError.addressTaken(address.text)
    } catch MaintenanceError.noSuchUser {}
    let hash = try newPasswordHash(for: address, settings)
    let user = accounts.newUser()
    let shortest = settings.configuration.accounts.passwordRules.minimumCharacters
    try run(AdminCommand(.add(address, hash), user, shortestPassword: shortest), by: accounts, signals)
    return Terminal.print("\(user)\n")
  }

  private static let disable = change(
    "disable",
    "Disable a user and end all sessions.",
    """
    Disable a user. All of the user's sessions and waiting requests end at once. The user's data stays.
    A login with the right password gets 403. A login with a wrong password gets 401, as before.
    """,
    done: "is disabled: all sessions have ended"
  ) { _, _ in .disable }

  private static let enable = change(
    "enable",
    "Enable a disabled user.",
    "Enable a disabled user, who can then log in again.",
    done: "is enabled"
  ) { _, _ in .enable }

  private static let resetPassword = change(
    "reset-password",
    "Set a new password and end all sessions.",
    "Set a new password for a user. All of the user's sessions end at once.",
    notes: passwordNotes,
    options: [passwordMinimum],
    done: "has the new password: all sessions have ended"
  ) { user, settings in
    guard user.email != nil else {
      throw CommandError(.usage, "\(user.name) (\(user.id)) has no e-mail address, so a password is of no use.")
    }
    return .resetPassword(try newPasswordHash(for: user.email.flatMap { try? EmailAddress($0) }, settings))
  }

  private static let erase = change(
    "erase",
    "Delete a user and all data.",
    """
    Delete a user for good: account, sessions, state and history. The deleted data is overwritten in a
    store's file. PostgreSQL removes it with its next vacuum. Earlier backups still contain it.
    """,
    options: [.flag("--yes", \.isConfirmed, "Do not ask for confirmation.")],
    done: "is erased"
  ) { user, settings in
    if !settings.isConfirmed { try confirm("Erase \(user.name) (\(user.id)) for good?") }
    return .erase
  }

  private static func change(
    _ name: String,
    _ summary: String,
    _ about: String,
    notes: String? = nil,
    options: [CommandOption<Settings>] = [],
    done: String,
    work: @escaping @Sendable (User, Settings) throws -> AdminCommand.Work
  ) -> CommandEntry {
    CommandEntry(
      CommandSyntax<Settings>(
        name: "user \(name)",
        summary: summary,
        about: about,
        notes: [userNotes, notes, serverNotes].compactMap { $0 }.joined(separator: "\n"),
        operands: [user],
        options: store + options,
        exclusive: [storeOptionNames]
      )
    ) { settings in
      let signals = try SignalInterceptor()
      let accounts = try AccountAdministrator(of: settings.location, interruption: signals, pause: CurrentThread.sleep)
      let user = try accounts.user(settings.user)
      let work = try work(user, settings)
      var shortest: Int?
      if case .resetPassword = work { shortest = settings.configuration.accounts.passwordRules.minimumCharacters }
      try run(AdminCommand(work, user.id, shortestPassword: shortest), by: accounts, signals)
      return Terminal.print("\(user.name) (\(user.id)) \(done)\n")
    }
  }

  private static func run(
    _ command: AdminCommand,
    by accounts: AccountAdministrator,
    _ signals: SignalInterceptor
  ) throws {
    do {
      try accounts.run(command)
    } catch let error as AdminCommandInterruptedError {
      throw CommandError(signals.code ?? .interrupted, "\(error)")
    }
  }

  // MARK: Questions

  private static func newPasswordHash(for address: EmailAddress?, _ settings: Settings) throws -> PasswordHash {
    let password = try PasswordPrompt.read()
    let faults = settings.configuration.accounts.passwordRules.faults(in: password, of: address)
    guard faults.isEmpty else { throw CommandError(.usage, faults.joined(separator: " ")) }
    let workers = try HashingPool(threads: 1, capacity: 1)
    defer { workers.shutDown() }
    let hasher = Argon2Hasher(try Sodium(), strength: settings.configuration.passwordStrength, workers: workers)
    return try CurrentThread.run { try await hasher.hash(password, for: .administrator) }
  }

  private static func confirm(_ question: String) throws(CommandError) {
    guard Terminal.isTerminal(STDIN_FILENO) else {
      throw CommandError(.usage, "standard input is not a terminal: add --yes to confirm. Nothing was changed.")
    }
    Terminal.error("\(question) [y/N] ")
    guard let answer = readLine(), ["y", "yes"].contains(answer.lowercased()) else {
      throw CommandError(.usage, "nothing was changed.")
    }
  }
}

extension OptionFormat where Value == String {
  fileprivate static let emailAddress = OptionFormat(placeholder: "<address>") { value throws(OptionValueError) in
    do throws(AccountTextError) {
      return try EmailAddress(value).text
    } catch {
      throw OptionValueError(reason: String("\(error)".dropLast()))
    }
  }
}
