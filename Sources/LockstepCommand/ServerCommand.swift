import Glibc
import Lockstep
import LockstepCollections

/// The command, as a program's `main.swift` runs it:
///
///     import LockstepCommand
///
///     ServerCommand.run([.shopping])
public enum ServerCommand {
  /// Does what the process's arguments say (`serve`, `--help`, `--version`), and ends the process.
  ///
  /// `serve` takes every option of `lockstep serve`, from the command line and from variables, and serves until SIGTERM or
  /// SIGINT. To be called first of all, on the main thread and before any other thread is started: it says who gets signals.
  ///
  /// - Parameter modules: What this server keeps for users besides favorites, defaults and profiles.
  public static func run(_ modules: [UserModule] = []) -> Never {
    StandardStreams.takePlaces()
    // Before there is any secret in memory: a command is given passwords, and prints what users keep.
    ProcessLimits.forbidDumps()
    exit(Command.run(Array(CommandLine.arguments.dropFirst()), modules).rawValue)
  }
}
