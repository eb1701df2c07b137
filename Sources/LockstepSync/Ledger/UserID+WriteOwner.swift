import LockstepCollections
import LockstepSQLite

extension UserID {
  /// The user as an owner of writes: no user's long ones hold everybody else's up.
  var writeOwner: WriteOwner { WriteOwner(uuid.high, uuid.low) }
}
