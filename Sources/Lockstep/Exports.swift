// A server of one's own imports `Lockstep` alone: what its modules are made of comes with it.

@_exported import LockstepCollections
@_exported import LockstepJSON
@_exported import LockstepMigrations
@_exported import LockstepReactor
@_exported import LockstepSQLite
@_exported import LockstepStore
@_exported import LockstepTime
