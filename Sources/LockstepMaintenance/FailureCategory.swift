import LockstepCollections
import LockstepSQLite
import LockstepStore

/// What kind of trouble an error is to whoever has to do something about it: what a command ends with follows from it.
public enum FailureCategory: Sendable, Equatable {
  /// What was asked for can't be meant.
  case request
  /// A module of this program isn't declared as it must be.
  case program
  /// A store or a backup is damaged, or none of ours.
  case data
  /// A file that is to be read isn't there, or can't be read.
  case missingFile
  /// There is no such user.
  case missingUser
  /// Something would have to be overwritten, or can't be made.
  case taken
  /// The store can't be opened or written.
  case store
  /// It may be over in a moment.
  case passing
  /// Something else that is needed can't be had.
  case unavailable

  /// The kind of an error that an operator's command met.
  public init(_ error: any Error) {
    self =
      switch error {
      case let error as MaintenanceError: Self.kind(of: error)
      case is InvalidModuleError: .program
      case let error as StoreError: Self.kind(of: error)
      case let error as SQLiteError: Self.kind(of: error)
      default: .unavailable
      }
  }

  private static func kind(of error: MaintenanceError) -> FailureCategory {
    switch error {
    case .exists, .notAFile, .cannotMake, .addressTaken: .taken
    case .missing: .missingFile
    case .damaged: .data
    case .sameFile, .unknownCursor: .request
    case .noSuchUser, .erased: .missingUser
    case .beingMade, .notTaken, .olderSchema, .replaced: .passing
    }
  }

  private static func kind(of error: StoreError) -> FailureCategory {
    switch error {
    case .notAFile, .onlyLog, .notAStore, .newerSchema, .unknownMigration, .changedMigration, .inconsistent: .data
    case .missingModule, .otherKindOfModule, .newerModule, .outlivesUsers: .data
    case .database(let error): kind(of: error)
    case .inUse, .overloaded, .closed: .passing
    case .cannotLock, .replaced: .store
    case .noThread: .unavailable
    }
  }

  private static func kind(of error: SQLiteError) -> FailureCategory {
    switch error.kind {
    case .corrupt, .notADatabase, .mismatch: .data
    case .cannotOpen: .missingFile
    case .busy: .passing
    default: .store
    }
  }
}
