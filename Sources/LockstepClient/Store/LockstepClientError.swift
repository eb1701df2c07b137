import Foundation
import LockstepCollections
import LockstepSQLite

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// Why a client cannot be made, or cannot use its file.
public struct LockstepClientError: LocalizedError, Sendable, Equatable, CustomStringConvertible {
  /// The kinds of errors, by what an app can do about them.
  public enum Reason: Sendable, Equatable {
    /// The file is damaged. `LockstepClient.setStoreAside(at:)` makes room for a new one, and returns the writes that
    /// can still be read.
    case damaged
    /// The file is another program's database. Use another path.
    case otherDatabase
    /// A newer version of the client has written the file. Ask the user to update the app.
    case newerVersion
    /// The process may not read or write the file. On iOS, this happens from the start of the device until the user
    /// unlocks it. Try again later.
    case noAccess
    /// The folder of the file does not exist.
    case noFolder
    /// The disk is full.
    case diskFull
    /// Another process has locked the file for five seconds. Try again.
    case busy
    /// The declaration of a module that the app has passed is invalid.
    case invalidModule
    /// Another error, such as a failure of the disk.
    case other
  }

  /// The kind of the error.
  public let reason: Reason
  /// The error in sentences for developers.
  public let description: String

  /// A short text for users, without a full stop at its end.
  public var title: String {
    switch reason {
    case .damaged: "The data on this device is damaged"
    case .otherDatabase: "Another app keeps its data where this app wants to keep it"
    case .newerVersion: "A newer version of the app has written the data. Please update the app"
    case .noAccess: "The app may not use its data on this device at the moment"
    case .noFolder: "There is no place for the data on this device"
    case .diskFull: "There is no room for more on this device"
    case .busy: "The data on this device is in use. Please try again"
    case .invalidModule: ClientFailure.Title.app.rawValue
    case .other: "The app cannot use its data on this device"
    }
  }

  /// The title, so that it is also the `localizedDescription`.
  public var errorDescription: String? { title }

  init(_ reason: Reason, _ description: String) { (self.reason, self.description) = (reason, description) }

  /// The error for the app.
  init(_ error: any Error) {
    switch error {
    case let error as LockstepClientError: self = error
    case let error as SQLiteError: self.init(Self.reason(of: error), error.description)
    case let error as InvalidModuleError: self.init(.invalidModule, "\(error)")
    default: self.init(.other, "\(error)")
    }
  }

  private static func reason(of error: SQLiteError) -> Reason {
    switch (error.kind, error.systemError) {
    case (_, EACCES), (_, EPERM), (_, EROFS), (.readOnly, _): .noAccess
    case (_, ENOSPC), (_, EDQUOT), (.full, _): .diskFull
    case (_, ENOENT), (_, ENOTDIR): .noFolder
    case (.busy, _): .busy
    // A column of another type, or a file whose first bytes are not those of SQLite.
    case (.corrupt, _), (.notADatabase, _), (.mismatch, _): .damaged
    default: .other
    }
  }
}
