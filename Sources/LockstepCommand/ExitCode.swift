import Lockstep
import SQLite

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
  /// Ended by a second signal before everything was finished.
  case interrupted = 130

  /// The code of an error that ends a command.
  init(for error: any Error) {
    self =
      switch error {
      case let failure as CommandFailure: failure.code
      case let error as OperatingError: Self.code(of: error)
      case is InvalidModule: .program
      case let error as StoreError: Self.code(of: error)
      case let error as SQLiteError: Self.code(of: error)
      default: .unavailable
      }
  }

  private static func code(of error: OperatingError) -> ExitCode {
    switch error {
    case .exists, .cannotMake: .cannotCreate
    case .missing: .noInput
    case .damaged: .data
    case .sameFile, .unknownCursor: .usage
    case .noSuchUser, .erased: .noUser
    case .addressTaken: .cannotCreate
    case .beingMade, .notTaken, .olderSchema, .replaced: .temporary
    }
  }

  private static func code(of error: StoreError) -> ExitCode {
    switch error {
    case .notAFile, .notAStore, .newerSchema, .unknownMigration, .changedMigration, .inconsistent: .data
    case .missingModule, .otherKindOfModule, .newerModule, .outlivesUsers: .data
    case .database(let error): code(of: error)
    case .inUse, .overloaded, .closed: .temporary
    case .cannotLock, .replaced: .store
    case .noThread: .unavailable
    }
  }

  private static func code(of error: SQLiteError) -> ExitCode {
    switch error.kind {
    case .corrupt, .notADatabase, .mismatch: .data
    case .cannotOpen: .noInput
    case .busy: .temporary
    default: .store
    }
  }
}

/// Why a command couldn't do what it was asked for, and how it ends.
struct CommandFailure: Error, Equatable, CustomStringConvertible {
  let code: ExitCode
  /// What happened and what to do, in sentences.
  let description: String

  init(_ code: ExitCode, _ description: String) {
    self.code = code
    self.description = description
  }
}
