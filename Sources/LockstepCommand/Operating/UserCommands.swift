import Glibc
import Lockstep
import LockstepCollections
import LockstepMaintenance
import LockstepStore
import LockstepThreading

/// `lockstep user …`: the accounts of a store, whether or not a server uses it.
enum UserCommands {
  struct Settings: StoreSettings {
    var configuration = Configuration()
    /// An address, or an id.
    var user = ""
    var json = false
    var to: String?
    var isConfirmed = false
    var data: String {
      get { configuration.data }
      set { configuration.data = newValue }
    }
  }

  static func entries(_ modules: [UserModule]) -> [CommandEntry] {
    [list, add, disable, enable, resetPassword, export(modules), erase]
  }

  private static let who = CommandSyntax<Settings>.Operand(placeholder: "<user>") { settings, value in
    settings.user = value
  }

  private static let whoNotes = "<user> is an e-mail address, or an id as `lockstep user list` shows it."

  private static let serverNotes = """
    While a server uses the store it's the server that does it, within a second or two; the command waits for that, and
    says so where it doesn't come. Ctrl-C takes it back where the server hasn't begun, and says whether it had. Without a
    server the command does it by itself.
    """

  private static let passwordNotes = """
    The password is asked for on a terminal, where it isn't shown; otherwise it's the first line of standard input.
    """

  private static let passwordOptions: [CommandOption<Settings>] = ServeOptions.accounts
    .filter { $0.name == "--password-min" }.map { $0.within(\.configuration) }

  private static func office(_ settings: Settings, _ signals: SignalInterceptor? = nil) throws -> AccountAdministrator {
    try AccountAdministrator(path: settings.data, interruption: signals) { Sleep.thread(for: $0) }
  }

  /// Has an order carried out. Who ends the command meanwhile is told whether it's done.
  private static func carryOut(_ order: AdminCommand, in office: AccountAdministrator, _ signals: SignalInterceptor)
    throws
  {
    do {
      try office.carryOut(order)
    } catch let error as AdminCommandInterruptedError {
      throw CommandError(signals.code ?? .interrupted, "\(error)")
    }
  }

  // MARK: Looking

  private static let list = CommandEntry(
    CommandSyntax<Settings>(
      name: "user list",
      summary: "Show who there is.",
      about: """
        Show every user of a store, in the order in which they signed up: id, address, when they signed up, how many devices
        are logged in, when one was last seen, and whether they are disabled.
        """,
      options: [.data, .flag("--json", "A line of JSON for each user.", \.json)]
    ),
    Settings()
  ) { settings in
    let office = try office(settings)
    var last: UserID?
    while true {
      // Nothing is held while it's printed: who reads it may take their time.
      let page = try office.users(after: last)
      guard let end = page.last else { return .success }
      last = end.user.id
      try Terminal.show(page.map { (settings.json ? UserLine.json($0) : UserLine.text($0)) + "\n" }.joined())
    }
  }

  private static func export(_ modules: [UserModule]) -> CommandEntry {
    CommandEntry(
      CommandSyntax<Settings>(
        name: "user export",
        summary: "Write all that is stored about a user.",
        about: """
          Write all that is stored about a user, as one JSON document: what GET /v1/me/export gives them. It's read beside
          whoever uses the store.
          """,
        notes: whoNotes,
        operands: [who],
        options: [.data, .file("--to", "A new file, for its owner only. Default: standard output.", \.to)]
      ),
      Settings()
    ) { settings in
      let user = try office(settings).user(settings.user)
      let output = try settings.to.map { try OutputFile($0) }
      defer { output?.removeUnlessFinished() }
      let export = StoreExport(of: settings.data, modules: modules)
      let shown = Terminal.isTerminal(STDOUT_FILENO) ? LockedState(TerminalJSON()) : nil
      try Blocking.run {
        try await export.write(user.id) { bytes in
          if let output { return try output.write(bytes) }
          try Terminal.show(shown?.withLock { $0.next(bytes) } ?? bytes)
        }
      }
      guard let output else {
        try Terminal.show("\n")
        return .success
      }
      try output.finish()
      return Terminal.print("\(output.path): all that is stored about \(Terminal.harmless(user.email))\n")
    }
  }

  // MARK: Changing

  private static let add = CommandEntry(
    CommandSyntax<Settings>(
      name: "user add",
      summary: "Add a user, also where registration is closed.",
      about: "Add a user with an e-mail address and a password, also where registration is closed. Prints their id.",
      notes: "\(passwordNotes)\n\(serverNotes)",
      operands: [
        CommandSyntax<Settings>.Operand(placeholder: "<address>") { settings, value throws(OptionValueError) in
          do throws(EmailAddress.Invalid) {
            settings.user = try EmailAddress(value).text
          } catch {
            throw OptionValueError(reason: String("\(error)".dropLast()))
          }
        }
      ],
      options: [.data] + passwordOptions
    ),
    Settings()
  ) { settings in
    let signals = try SignalInterceptor()
    let office = try office(settings, signals)
    let address = try EmailAddress(settings.user)
    // Before anybody types a password in vain.
    do {
      _ = try office.user(address.text)
      throw MaintenanceError.addressTaken(address.text)
    } catch MaintenanceError.noSuchUser {}
    let hash = try hash(of: address, settings)
    let user = office.newUser()
    try carryOut(AdminCommand(.add(address, hash), user), in: office, signals)
    return Terminal.print("\(user)\n")
  }

  private static let disable = change(
    "disable",
    "Let a user in no more; their sessions end.",
    "Let a user in no more. All their sessions end at once, also those that wait for something; their data stays. Who logs in\n"
      + "with their right password is told 403, with any other 401 as ever.",
    done: "is disabled: all their sessions have ended"
  ) { _, _ in .disable }

  private static let enable = change(
    "enable",
    "Let a disabled user in again.",
    "Let a user in again who was disabled. They log in anew.",
    done: "is enabled"
  ) { _, _ in .enable }

  private static let resetPassword = change(
    "reset-password",
    "Give a user another password; their sessions end.",
    "Give a user another password. All their sessions end at once, and they log in anew with it.",
    notes: passwordNotes,
    options: passwordOptions,
    done: "has the new password: all their sessions have ended"
  ) { user, settings in
    .resetPassword(try hash(of: try? EmailAddress(user.email), settings))
  }

  private static let erase = change(
    "erase",
    "Delete a user and everything about them.",
    "Delete a user and everything about them, for good: account, sessions, favorites, defaults, profile and history. What was\n"
      + "deleted is overwritten in the store; backups that were made before still hold it.",
    options: [.flag("--yes", "Don't ask whether this is really meant.", \.isConfirmed)],
    done: "is erased"
  ) { user, settings in
    if !settings.isConfirmed { try confirm("Erase \(Terminal.harmless(user.email)) (\(user.id)) for good?") }
    return .erase
  }

  /// A command that changes one user.
  private static func change(
    _ name: String,
    _ summary: String,
    _ about: String,
    notes: String = "",
    options: [CommandOption<Settings>] = [],
    done: String,
    work: @escaping @Sendable (User, Settings) throws -> AdminCommand.Work
  ) -> CommandEntry {
    CommandEntry(
      CommandSyntax<Settings>(
        name: "user \(name)",
        summary: summary,
        about: about,
        notes: [whoNotes, notes, serverNotes].filter { !$0.isEmpty }.joined(separator: "\n"),
        operands: [who],
        options: [.data] + options
      ),
      Settings()
    ) { settings in
      let signals = try SignalInterceptor()
      let office = try office(settings, signals)
      let user = try office.user(settings.user)
      try carryOut(AdminCommand(try work(user, settings), user.id), in: office, signals)
      return Terminal.print("\(Terminal.harmless(user.email)) (\(user.id)) \(done)\n")
    }
  }

  // MARK: Asking

  private static func hash(of address: EmailAddress?, _ settings: Settings) throws -> PasswordHash {
    let password = try PasswordPrompt.read()
    let faults = settings.configuration.accounts.passwordRules.faults(in: password, of: address)
    guard faults.isEmpty else { throw CommandError(.usage, faults.joined(separator: " ")) }
    return try PasswordMaking.hash(password, strength: settings.configuration.passwordStrength)
  }

  private static func confirm(_ question: String) throws(CommandError) {
    guard Terminal.isTerminal(0) else {
      throw CommandError(
        .usage,
        "nobody is there to be asked: say --yes where this is really meant. Nothing was changed."
      )
    }
    Terminal.error("\(question) [y/N] ")
    guard let answer = readLine(), ["y", "yes"].contains(answer.lowercased()) else {
      throw CommandError(.usage, "nothing was changed.")
    }
  }
}
