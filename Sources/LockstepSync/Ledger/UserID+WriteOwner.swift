import LockstepCollections
import LockstepSQLite

extension UserID {
  /// The user as an owner of writes, so that a user's long writes are throttled.
  var writeOwner: WriteOwner { WriteOwner(uuid.high, uuid.low) }
}
