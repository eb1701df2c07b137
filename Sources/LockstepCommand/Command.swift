import LockstepComposition
import LockstepHTTP

/// The `lockstep` command: finds the subcommand and runs it.
enum Command {
  /// Every command of a server with these modules and screens. To add a command, add it here.
  static func all(_ modules: [UserModule] = [], _ screens: [ScreenDeclaration] = []) -> [CommandEntry] {
    let program = Program(modules: modules, screens: screens)
    return [
      ServeCommand.entry(modules, screens), BackupCommand.entry, RestoreCommand.entry(modules),
      CheckCommand.entry(modules),
      MigrateCommand.entry(modules), CopyCommand.entry(modules),
    ] + UserCommands.entries(program) + CollectionsCommands.entries(program) + [
      TailCommand.entry, HealthCommand.entry, OpenAPICommand.entry(modules, screens),
      TypesCommand.swift, TypesCommand.typeScript, NewCommand.entry, CompletionsCommand.entry, ManCommand.entry,
    ]
  }

  static func run(
    _ arguments: [String],
    _ modules: [UserModule] = [],
    _ screens: [ScreenDeclaration] = []
  ) -> ExitCode {
    guard let first = arguments.first else { return usageError(Help.command) }
    switch first {
    case "--help", "-h", "help": return Terminal.print(Help.command)
    case "--version", "version":
      if arguments.count > 1 { return usageError("lockstep: unexpected argument “\(arguments[1])” after \(first).\n") }
      return Terminal.print("lockstep \(lockstepVersion)\n")
    default: return runCommand(first, Array(arguments.dropFirst()), all(modules, screens))
    }
  }

  private static func runCommand(_ first: String, _ rest: [String], _ all: [CommandEntry]) -> ExitCode {
    if let entry = all.first(where: { $0.name == first }) { return entry.run(rest) }
    guard all.contains(where: { $0.name.hasPrefix("\(first) ") }) else {
      return usageError("lockstep: there is no command “\(first)”. `lockstep --help` lists the commands.\n")
    }
    guard let second = rest.first else { return usageError(Help.group(first)) }
    if ["--help", "-h", "help"].contains(second) { return Terminal.print(Help.group(first)) }
    if let entry = all.first(where: { $0.name == "\(first) \(second)" }) { return entry.run(Array(rest.dropFirst())) }
    return usageError(
      "lockstep: there is no command “\(first) \(second)”. `lockstep \(first) --help` lists the commands.\n"
    )
  }

  private static func usageError(_ text: String) -> ExitCode {
    Terminal.error(text)
    return .usage
  }
}
