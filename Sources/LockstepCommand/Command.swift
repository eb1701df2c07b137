import Lockstep

/// The `lockstep` command: finds the subcommand and runs it.
enum Command {
  static func run(_ arguments: [String], _ modules: [UserModule]) -> ExitCode {
    guard let first = arguments.first else {
      Terminal.error(Help.command)
      return .usage
    }
    switch first {
    case "serve": return ServeCommand.run(Array(arguments.dropFirst()), modules)
    case "--help", "-h", "help": return Terminal.print(Help.command)
    case "--version", "version":
      guard arguments.count == 1 else {
        Terminal.error("lockstep: “\(arguments[1])” is one word too many behind \(first).\n")
        return .usage
      }
      return Terminal.print("lockstep \(lockstepVersion)\n")
    default:
      Terminal.error("lockstep: there is no command “\(first)”. `lockstep --help` lists them.\n")
      return .usage
    }
  }
}
