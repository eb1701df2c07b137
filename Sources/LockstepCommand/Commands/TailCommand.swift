import LockstepComposition
import LockstepMaintenance
import LockstepThreading

enum TailCommand {
  struct Settings: StoreSettings {
    var data = Configuration().data
    var store: String?
    var user: String?
    var since: JournalTail.Start?
    var limit = 10
    var once = false
    var json = false
  }

  private static let pollInterval = Duration.milliseconds(200)

  static let syntax = CommandSyntax<Settings>(
    name: "tail",
    summary: "Follow the journal of a user or of all users.",
    about: """
      Print the last entries of the journal, and each new entry when it is written: time, device,
      collection, action, mutations, and without --user the user's e-mail address. A server may use the
      store at the same time. Ctrl-C ends the command.
      """,
    options: [
      .data, .store,
      CommandOption("--user", \.user, .text("<user>"), hasVariable: false)
        .help("An e-mail address, or an id from `lockstep user list`. Default: all users."),
      CommandOption("--since", \.since, .since, hasVariable: false)
        .help(
          "Where to begin: after a cursor, at a time such as 2026-11-21T05:00:00.000Z, or at a time span before now, "
            + "such as 30m. Without --since, -n decides."
        ),
      CommandOption("-n", \.limit, .integer(0...1_000_000), hasVariable: false)
        .help("How many of the last entries to print first. Ignored with --since."),
      .flag("--once", \.once, "Exit after the existing entries are printed."),
      .flag("--json", \.json, "Print each entry as a line of JSON."),
    ],
    exclusive: [storeOptionNames]
  )

  static let entry = CommandEntry(syntax) { settings in
    let user = try settings.user.map {
      try AccountReader(of: settings.location).user($0)
    }
    var tail = try JournalTail(of: user?.id, in: settings.location, from: settings.since ?? .last(settings.limit))
    let isColoured = Terminal.hasColours
    while true {
      let entries = try tail.read()
      for entry in entries {
        try Terminal.show((settings.json ? TailLine.json(entry) : TailLine.text(entry, isColoured: isColoured)) + "\n")
      }
      if !entries.isEmpty { continue }
      if settings.once { return .success }
      CurrentThread.sleep(for: pollInterval)
    }
  }
}

extension OptionFormat where Value == JournalTail.Start {
  fileprivate static let since = OptionFormat(placeholder: "<cursor|time>") { text throws(OptionValueError) in
    if let age = try? OptionFormat<Duration>.time().read(text) {
      return .time(TimeSource.system.now().earlier(by: age))
    }
    if let moment = Timestamp(text) { return .time(moment) }
    if text.utf8.contains(UInt8(ascii: ".")), !text.utf8.contains(UInt8(ascii: ":")) { return .cursor(text) }
    throw OptionValueError(
      reason: "it must be a cursor, a time such as 2026-11-21T05:00:00.000Z, or a time span such as 30m"
    )
  }
}
