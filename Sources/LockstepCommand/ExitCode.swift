/// How the command ends, after BSD's `sysexits.h`, so that scripts can tell one failure from another.
enum ExitCode: Int32 {
  case success = 0
  /// The command line or a variable is wrong.
  case usage = 64
  /// Something the command needs can't be had: the address is taken, the thread can't start.
  case unavailable = 69
  /// A module of this program isn't declared as it must be.
  case program = 70
  /// The store can't be opened or is not one of ours.
  case store = 74
  /// Ended by a second signal before everything was finished.
  case interrupted = 130
}
