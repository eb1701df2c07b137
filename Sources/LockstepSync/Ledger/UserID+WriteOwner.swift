import LockstepCollections
import LockstepSQLite

extension UserID {
  /// The user as an owner of writes. So long writes of one user do not delay other users.
  var writeOwner: WriteOwner { WriteOwner(uuid.high, uuid.low) }
}
