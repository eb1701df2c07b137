// The code of a module imports only `Lockstep`, which re-exports everything that modules need.

@_exported import LockstepCollections
@_exported import LockstepJSON
@_exported import LockstepMigrations
@_exported import LockstepReactor
@_exported import LockstepSQLite
@_exported import LockstepStore
@_exported import LockstepTime
