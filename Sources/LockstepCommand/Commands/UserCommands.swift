import Glibc
import LockstepComposition
import LockstepAccounts
import LockstepHTTP
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

  static func entries(_ program: Program) -> [CommandEntry] {
    [list, add(program), UserImportCommand.entry(program), disable(program), enable(program), resetPassword(program)]
      + [export(program.modules), erase(program)]
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
  private static let passwordRuleNotes = "If a server uses the store's file, the server's rules for passwords apply."
  private static let serverNotes = """
    If a server uses the store's file, this command sends its change to the server, over the socket beside the
    file. If the server does not take it within 15 s, the command withdraws it and exits with code 75. Ctrl-C
    withdraws it too, or prints that the server has it already. If no server uses the file, this command does the
    work itself. With a store in PostgreSQL, this command is a node of the fleet while it works.
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
    let accounts = try AccountReader(of: settings.location)
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
      let user = try AccountReader(of: settings.location).user(settings.user)
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

  private static func add(_ program: Program) -> CommandEntry {
    CommandEntry(
      CommandSyntax<Settings>(
        name: "user add",
        summary: "Add a user, even if registration is closed.",
        about:
          "Add a user with an e-mail address and a password, even if registration is closed. Prints the user's id.",
        notes: "\(passwordNotes)\n\(passwordRuleNotes)\n\(serverNotes)",
        operands: [CommandOption("<address>", \.user, .emailAddress)],
        options: store + [passwordMinimum],
        exclusive: [storeOptionNames]
      )
    ) { settings in
      let signals = try SignalInterceptor()
      let channel = try program.channel(settings.configuration, signals)
      let address = try EmailAddress(settings.user)
      // Refuses a taken e-mail address before the operator types a password.
      do {
        _ = try AccountReader(of: settings.location).user(address.text)
        throw MaintenanceError.addressTaken(address.text)
      } catch MaintenanceError.noSuchUser {}
      let body: JSON = ["email": .string(address.text), "password": .string(try PasswordPrompt.read())]
      do {
        let added = try signals.report { try channel.send(.post, "/v1/admin/users", body) }
        return Terminal.print("\(added["id"]?.stringValue ?? "")\n")
      } catch let refusal as AdministrationRefusal where refusal.status == 409 {
        throw MaintenanceError.addressTaken(address.text)
      }
    }
  }

  private static func disable(_ program: Program) -> CommandEntry {
    change(
      program,
      "disable",
      "Disable a user and end all sessions.",
      """
      Disable a user. All of the user's sessions and waiting requests end at once. The user's data stays.
      A login with the right password gets 403. A login with a wrong password gets 401, as before.
      """,
      done: "is disabled: all sessions have ended"
    ) { _, _ in (.patch, ["disabled": true]) }
  }

  private static func enable(_ program: Program) -> CommandEntry {
    change(
      program,
      "enable",
      "Enable a disabled user.",
      "Enable a disabled user, who can then log in again.",
      done: "is enabled"
    ) { _, _ in (.patch, ["disabled": false]) }
  }

  private static func resetPassword(_ program: Program) -> CommandEntry {
    change(
      program,
      "reset-password",
      "Set a new password and end all sessions.",
      "Set a new password for a user. All of the user's sessions end at once.",
      notes: "\(passwordNotes)\n\(passwordRuleNotes)",
      options: [passwordMinimum],
      done: "has the new password: all sessions have ended"
    ) { user, _ in
      guard user.email != nil else {
        throw CommandError(.usage, "\(user.name) (\(user.id)) has no e-mail address, so a password is of no use.")
      }
      return (.patch, ["password": .string(try PasswordPrompt.read())])
    }
  }

  private static func erase(_ program: Program) -> CommandEntry {
    change(
      program,
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
      return (.delete, nil)
    }
  }

  private static func change(
    _ program: Program,
    _ name: String,
    _ summary: String,
    _ about: String,
    notes: String? = nil,
    options: [CommandOption<Settings>] = [],
    done: String,
    request: @escaping @Sendable (User, Settings) throws -> (Method, JSON?)
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
      let channel = try program.channel(settings.configuration, signals)
      let user = try AccountReader(of: settings.location).user(settings.user)
      let (method, body) = try request(user, settings)
      do {
        _ = try signals.report { try channel.send(method, "/v1/admin/users/\(user.id)", body) }
      } catch let refusal as AdministrationRefusal where refusal.status == 404 {
        throw MaintenanceError.noSuchUser(settings.user)
      }
      return Terminal.print("\(user.name) (\(user.id)) \(done)\n")
    }
  }

  // MARK: Questions

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
