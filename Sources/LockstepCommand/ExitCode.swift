import Lockstep
import LockstepMaintenance

/// How the command ends, after BSD's `sysexits.h`, so that scripts can tell one failure from another.
enum ExitCode: Int32 {
  case success = 0
  /// What was asked about isn't so: the server isn't ready.
  case no = 1
  /// The command line or a variable is wrong.
  case usage = 64
  /// A store or a backup is damaged, or no store of ours.
  case data = 65
  /// A file that is to be read isn't there, or can't be read.
  case noInput = 66
  /// There is no such user.
  case noUser = 67
  /// Something the command needs can't be had: the address is taken, the thread can't start.
  case unavailable = 69
  /// A module of this program isn't declared as it must be.
  case program = 70
  /// A file can't be made, or would have to be overwritten.
  case cannotCreate = 73
  /// The store can't be opened or written, or the text can't be printed.
  case store = 74
  /// It can't be done now, and may be done later: somebody else has the store, the server has too much to do.
  case temporary = 75
  /// Ended by a second signal before everything was finished, or by SIGINT before an order was carried out.
  case interrupted = 130
  /// Ended by SIGTERM before an order was carried out.
  case terminated = 143

  /// The code of an error that ends a command.
  init(for error: any Error) {
    if let failure = error as? CommandError {
      self = failure.code
      return
    }
    self =
      switch FailureCategory(error) {
      case .request: .usage
      case .program: .program
      case .data: .data
      case .missingFile: .noInput
      case .missingUser: .noUser
      case .taken: .cannotCreate
      case .store: .store
      case .passing: .temporary
      case .unavailable: .unavailable
      }
  }
}

/// Why a command couldn't do what it was asked for, and how it ends.
struct CommandError: Error, Equatable, CustomStringConvertible {
  let code: ExitCode
  /// What happened and what to do, in sentences.
  let description: String

  init(_ code: ExitCode, _ description: String) {
    self.code = code
    self.description = description
  }
}
