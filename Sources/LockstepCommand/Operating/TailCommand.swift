import Glibc
import Lockstep
import LockstepHTTP
import LockstepJSON
import LockstepMaintenance
import LockstepTime

/// `lockstep tail`: what happens to one user, as it happens.
enum TailCommand {
  struct Settings: StoreSettings {
    var data = Configuration().data
    var user: String?
    var since: JournalTail.Start?
    /// Counted back from now, once it's known when that is.
    var age: Duration?
    var limit = 10
    var once = false
    var json = false
  }

  /// How often it's looked whether something is new.
  private static let glance = Duration.milliseconds(200)

  static let form = CommandSyntax<Settings>(
    name: "tail",
    summary: "Follow what happens to a user.",
    about: """
      Print what happened to a user, and go on as it happens: when, on which device, in which collection, what was asked for
      and what came of it. It's read from the store's file, beside the server. Ends with Ctrl-C.
      """,
    options: [
      .data,
      CommandOption(
        name: "--user",
        placeholder: "<user>",
        group: .general,
        help: "An e-mail address, or an id as `lockstep user list` shows it. Needed.",
        hasVariable: false
      ) { settings, value throws(OptionValueError) in
        guard !value.isEmpty else { throw OptionValueError(reason: "it is empty") }
        settings.user = value
      },
      CommandOption(
        name: "--since",
        placeholder: "<cursor|time>",
        group: .general,
        help:
          "Where to begin: behind a cursor, at a time such as 2026-11-21T05:00:00.000Z, or so long ago, such as 30m. "
          + "Default: with the last 10 entries.",
        hasVariable: false
      ) { settings, value throws(OptionValueError) in
        (settings.since, settings.age) = try start(value)
      },
      CommandOption(
        name: "-n",
        placeholder: "<number>",
        group: .general,
        help: "How many of the last entries to begin with, without --since. Default 10.",
        hasVariable: false
      ) { settings, value throws(OptionValueError) in
        settings.limit = try OptionValue.integer(value, in: 0...1_000_000)
      },
      .flag("--once", "End when what is there is printed.", \.once),
      .flag("--json", "A line of JSON for each entry.", \.json),
    ]
  )

  static let entry = CommandEntry(form, Settings()) { settings in
    guard let name = settings.user else { throw OptionParser.UsageError(message: "--user is missing: --user <user>.") }
    let office = try AccountAdministrator(path: settings.data) { Sleep.thread(for: $0) }
    let user = try office.user(name)
    let now = Timestamp(millisecondsSince1970: TimeSource.system.millisecondsSince1970())
    let since = settings.age.map { JournalTail.Start.time(now.earlier(by: $0)) } ?? settings.since
    var tail = try JournalTail(of: user.id, in: settings.data, from: since ?? .last(settings.limit))
    let isColoured = Terminal.hasColours
    while true {
      let entries = try tail.look()
      for entry in entries {
        try Terminal.show((settings.json ? TailLine.json(entry) : TailLine.text(entry, isColoured: isColoured)) + "\n")
      }
      if !entries.isEmpty { continue }
      if settings.once { return .success }
      Sleep.thread(for: glance)
    }
  }

  private static func start(_ text: String) throws(OptionValueError) -> (JournalTail.Start?, Duration?) {
    if let age = try? OptionValue.time(text) { return (nil, age) }
    if let moment = Timestamp(text) { return (.time(moment), nil) }
    if text.utf8.contains(UInt8(ascii: ".")), !text.utf8.contains(UInt8(ascii: ":")) { return (.cursor(text), nil) }
    throw OptionValueError(
      reason: "it must be a cursor, a time such as 2026-11-21T05:00:00.000Z, or how long ago, such as 30m"
    )
  }
}
