import LockstepComposition

/// `lockstep man`: prints the manual page, made from the tables of the help.
enum ManCommand {
  struct Settings: CommandSettings {}

  static let syntax = CommandSyntax<Settings>(
    name: "man",
    summary: "Print the manual page.",
    about: "Print the manual page of lockstep, lockstep(1), with all commands and options.",
    notes: """
      The date of the page is that of the variable SOURCE_DATE_EPOCH, in seconds since 1970, or today.

        lockstep man | man -l -
        lockstep man > /usr/local/share/man/man1/lockstep.1
      """,
    options: []
  )

  static let entry = CommandEntry(syntax) { _ in
    let seconds = Terminal.variable("SOURCE_DATE_EPOCH").flatMap(UInt32.init).map(Int64.init)
    let date = Timestamp(millisecondsSince1970: seconds.map { $0 * 1000 } ?? TimeSource.system.millisecondsSince1970())
    return Terminal.print(ManualPage(of: Command.all(), date: date).text)
  }
}
