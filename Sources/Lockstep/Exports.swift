// A custom server only imports `Lockstep`: these targets contain the types that its modules need.

@_exported import LockstepCollections
@_exported import LockstepJSON
@_exported import LockstepMigrations
@_exported import LockstepReactor
@_exported import LockstepSQLite
@_exported import LockstepStore
@_exported import LockstepTime
