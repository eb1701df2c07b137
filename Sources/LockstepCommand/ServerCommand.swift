import Glibc
import LockstepComposition

/// The command line of a server, to be called from a program's `main.swift`:
///
///     import Lockstep
///
///     ServerCommand.run(modules: [.list(Shopping())], screens: [.shoppingForm])
public enum ServerCommand {
  /// Runs the command that the process's arguments name (`serve`, `check`, `--help`), and ends the
  /// process. `modules` are the program's own, besides `favorites`, `defaults` and `profile`, and
  /// `screens` those besides the built-in ones.
  ///
  /// Options come from the command line and from variables, as for `lockstep`. Call this first, on
  /// the main thread, because it decides which threads get signals.
  public static func run(modules: [UserModule] = [], screens: [ScreenDeclaration] = []) -> Never {
    openStandardStreams()
    // This must happen before commands read passwords and users' data into memory.
    ProcessLimits.forbidDumps()
    exit(Command.run(Array(CommandLine.arguments.dropFirst()), modules, screens).rawValue)
  }

  /// Opens each of the descriptors 0 to 2 that was closed when the process started. Otherwise the
  /// next file or socket would get that number, and the server would write its log to that file.
  private static func openStandardStreams() {
    for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 && errno == EBADF {
      // `open` returns the lowest free number. Read-only, so that writing to it still fails.
      _ = open("/dev/null", O_RDONLY)
    }
  }
}
