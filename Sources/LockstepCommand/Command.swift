import Lockstep
import LockstepCollections
import LockstepHTTP

/// The `lockstep` command: finds the subcommand and runs it.
enum Command {
  /// Every command, of a server that keeps these modules for users besides its own: a new one is one more line here.
  static func all(_ modules: [UserModule] = []) -> [CommandEntry] {
    [ServeCommand.entry(modules), BackupCommand.entry, RestoreCommand.entry(modules), CheckCommand.entry(modules)]
      + UserCommands.entries(modules) + [
        TailCommand.entry, HealthCommand.entry, OpenAPICommand.entry(modules), CompletionsCommand.entry,
      ]
  }

  static func run(_ arguments: [String], _ modules: [UserModule]) -> ExitCode {
    guard let first = arguments.first else {
      Terminal.error(Help.command)
      return .usage
    }
    switch first {
    case "--help", "-h", "help": return Terminal.print(Help.command)
    case "--version", "version":
      guard arguments.count == 1 else {
        Terminal.error("lockstep: “\(arguments[1])” is one word too many behind \(first).\n")
        return .usage
      }
      return Terminal.print("lockstep \(lockstepVersion)\n")
    default: return runCommand(first, Array(arguments.dropFirst()), all(modules))
    }
  }

  private static func runCommand(_ first: String, _ rest: [String], _ all: [CommandEntry]) -> ExitCode {
    if let entry = all.first(where: { $0.name == first }) { return entry.run(rest) }
    guard all.contains(where: { $0.name.hasPrefix("\(first) ") }) else {
      Terminal.error("lockstep: there is no command “\(first)”. `lockstep --help` lists them.\n")
      return .usage
    }
    switch rest.first {
    case .none:
      Terminal.error(Help.group(first))
      return .usage
    case "--help", "-h", "help": return Terminal.print(Help.group(first))
    case .some(let second):
      if let entry = all.first(where: { $0.name == "\(first) \(second)" }) { return entry.run(Array(rest.dropFirst())) }
      Terminal.error("lockstep: there is no command “\(first) \(second)”. `lockstep \(first) --help` lists them.\n")
      return .usage
    }
  }
}
