import LockstepComposition
import LockstepMaintenance
import LockstepPostgreSQL
import LockstepSQLite

/// The exit codes, after BSD's `sysexits.h`, so that scripts can tell failures apart.
enum ExitCode: Int32, CaseIterable {
  case success = 0
  /// `lockstep health`: the server is not ready.
  case no = 1
  /// The command line or a variable is wrong.
  case usage = 64
  /// A store or a backup is damaged, or is not a Lockstep store. A response is not the catalogue of a server. A
  /// file of declarations or of users is not valid.
  case data = 65
  /// A file to read does not exist or cannot be read, or there is no such collection.
  case noInput = 66
  case noUser = 67
  /// A resource that the command needs is not available, such as a network address or a thread.
  case unavailable = 69
  /// The declaration of one of this program's modules or screens is invalid.
  case program = 70
  /// A file cannot be created, or would have to be overwritten. A change of declared collections
  /// is refused: users have data in one, or there would be too many.
  case cannotCreate = 73
  /// The store cannot be read, written or locked, or the output cannot be written.
  case store = 74
  /// A later attempt may succeed, because another process uses the store or the server is busy.
  case temporary = 75
  /// The role of the database lacks a right, or its password is wrong. A proxy refuses the request.
  case noPermission = 77
  /// The database does not exist, or cannot hold this program's store.
  case configuration = 78
  /// The process was ended by a second signal, or by SIGINT while a server had its admin command.
  case interrupted = 130
  /// The process was ended by SIGTERM while a server had its admin command.
  case terminated = 143

  init(for error: any Error) {
    self =
      switch error {
      case let error as CommandError: error.code
      case let error as MaintenanceError: Self.code(for: error)
      case let error as AdministrationRefusal: Self.code(for: error)
      case is InvalidModuleError, is InvalidScreenError: .program
      case let error as StoreError: Self.code(for: error)
      case let error as SQLiteError: Self.code(for: error)
      case let error as PostgreSQLError: Self.code(for: error)
      default: .unavailable
      }
  }

  /// The failures that the code stands for, as in docs/operating.md.
  var meaning: String {
    switch self {
    case .success: "The command succeeded."
    case .no: "health: the server is not ready or does not respond."
    case .usage: "The command line, a variable or the given password is invalid."
    case .data:
      "A store, a backup, a copy, a catalogue, or a file of declarations or of users is damaged or invalid, or does "
        + "not fit this program. check: the store is damaged."
    case .noInput: "A file to read does not exist or cannot be opened, or there is no such collection."
    case .noUser: "There is no such user."
    case .unavailable: "Something that the command needs is not available, such as the port, a server or the database."
    case .program: "The declaration of one of the program's modules or screens is invalid."
    case .cannotCreate: "A file cannot be created or exists already, or a change is refused to keep users' data."
    case .store:
      "The store cannot be read, written or locked, or the output cannot be written. serve with a file: any error of "
        + "the store except a newer schema."
    case .temporary: "Another process uses the store, or the server did not take the command in time. Try again later."
    case .noPermission:
      "The role of the database lacks a right or its password is wrong, or a proxy refuses the request."
    case .configuration: "The database does not exist, TLS fails, or the database cannot hold this program's store."
    case .interrupted: "Ctrl-C ended the command while a server had its admin command."
    case .terminated: "SIGTERM ended the command while a server had its admin command."
    }
  }

  private static func code(for error: MaintenanceError) -> ExitCode {
    switch error {
    case .exists, .notAFile, .cannotMake, .addressTaken, .notEmpty, .otherCopy: .cannotCreate
    case .missing, .emptyDatabase, .missingSource, .emptySource: .noInput
    case .damaged, .incompleteCopy: .data
    case .sameFile, .ownCopy, .unknownCursor: .usage
    case .noSuchUser, .erased: .noUser
    case .beingMade, .notTaken, .notAnswered, .olderSchema, .replaced: .temporary
    }
  }

  private static func code(for refusal: AdministrationRefusal) -> ExitCode {
    switch refusal.status {
    case 404: .noUser
    case 409, 507: .cannotCreate
    case 422: .usage
    case 429, 503: .temporary
    default: .store
    }
  }

  private static func code(for error: StoreError) -> ExitCode {
    switch error {
    case .notAFile, .onlyWAL, .notAStore, .emptyFile, .newerSchema, .unknownMigration, .changedMigration: .data
    case .inconsistent, .missingModule, .otherKindOfModule, .ownTables: .data
    case .database(let error): code(for: error)
    case .inUse, .overloaded, .leaseIsOver, .stoodStill, .closed: .temporary
    case .cannotLock, .replaced: .store
    case .noThread, .tooFewConnections, .standbySilent: .unavailable
    case .missingRight, .cannotCreateTables: .noPermission
    case .unusableDatabase, .otherStore: .configuration
    case .postgreSQL(let error): code(for: error)
    }
  }

  private static func code(for error: PostgreSQLError) -> ExitCode {
    switch error.kind {
    case .invalidConnectionString: .usage
    case .libraryMissing, .cannotConnect, .lostConnection, .timedOut, .tooManyConnections, .shutdown: .unavailable
    case .authentication, .insufficientPrivilege: .noPermission
    case .noSuchDatabase, .noSuchRole, .noSuchService, .encryption, .readOnly: .configuration
    default: .store
    }
  }

  private static func code(for error: SQLiteError) -> ExitCode {
    switch error.kind {
    case .corrupt, .notADatabase, .mismatch: .data
    case .cannotOpen: .noInput
    case .busy: .temporary
    default: .store
    }
  }
}

struct CommandError: Error, Equatable, CustomStringConvertible {
  let code: ExitCode
  /// The failure, and what to do, in sentences.
  let description: String

  init(_ code: ExitCode, _ description: String) {
    self.code = code
    self.description = description
  }
}
