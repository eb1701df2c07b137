import LockstepComposition
import LockstepMaintenance

enum CopyCommand {
  struct Settings: CommandSettings {
    var from: StoreLocation?
    var to: StoreLocation?
  }

  static let syntax = CommandSyntax<Settings>(
    name: "copy",
    summary: "Copy a store from a file to PostgreSQL, or back.",
    about: """
      Copy a whole store from a file into a PostgreSQL database, or from a database into a file: users,
      sessions, states, journal, snapshots, idempotency keys, service tokens, registered defaults and the
      store's identity. Cursors and tokens stay valid. The target must be a new file or an empty database.
      No server may use the source or the target, because its writes would be missing in the copy.
      """,
    notes: """
      If the command is interrupted, run it again: it goes on where it ended. Until the copy is complete,
      was compared with the source and has passed the check, no server starts on the target. A file has
      the name <file>.partial until then.
      A connection is a URI such as postgresql://user@host/database, or libpq's keywords and values such as
      service=lockstep. Every user of this machine can read arguments with ps, so put passwords into
      ~/.pgpass or a service file.
      """,
    options: [
      CommandOption("--from", \.from, .store, isSecret: true, hasVariable: false)
        .help("The source: a file or a connection. The command does not change it. Required."),
      CommandOption("--to", \.to, .store, isSecret: true, hasVariable: false)
        .help("The target: a new file, or the connection to an empty database. Required."),
    ]
  )

  static func entry(_ modules: [UserModule]) -> CommandEntry {
    CommandEntry(syntax) { settings in
      guard let source = settings.from else {
        throw OptionParser.UsageError(message: "--from is missing: --from <file|connection>.")
      }
      guard let target = settings.to else {
        throw OptionParser.UsageError(message: "--to is missing: --to <file|connection>.")
      }
      var bar = ProgressBar("copied  ")
      var comparing = ProgressBar("compared")
      defer { comparing.clear() }
      let outcome = try StoreCopy(from: source, to: target, modules: modules).run { step, done, all in
        switch step {
        case .copying: bar.show(done, of: all, as: Terminal.count(all, "user"))
        case .comparing: comparing.show(done, of: all, as: Terminal.count(all, "user"))
        }
      }
      comparing.clear()
      let counts = outcome.counts
      return Terminal.print(
        "\(outcome.target): a complete copy of \(outcome.source): \(Terminal.count(counts["users"], "user")), "
          + "\(Terminal.count(counts["list_elements"] + counts["map_values"], "element")), "
          + "\(Terminal.count(counts["journal"], "journal entry", "journal entries")), \(Terminal.count(counts.all, "row"))\n"
      )
    }
  }
}

extension OptionFormat where Value == StoreLocation {
  /// A file, or a connection string of PostgreSQL: a URI, or pairs such as `service=lockstep`.
  fileprivate static let store = OptionFormat("<file|connection>", reason: "it is empty") { text in
    if text.isEmpty { return nil }
    if text.hasPrefix("postgresql://") || text.hasPrefix("postgres://") { return .database(text) }
    let keyword = text.prefix { $0 != "=" }
    let isPair = keyword.count < text.count && keyword.allSatisfy { $0.isASCII && ($0.isLetter || "_ ".contains($0)) }
    return isPair ? .database(text) : .file(text)
  }
}
