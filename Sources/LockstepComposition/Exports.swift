// Re-exports what the command and tests need besides the composition. The library `Lockstep` re-exports the same.

@_exported import LockstepBuiltInScreens
@_exported import LockstepCollections
@_exported import LockstepJSON
@_exported import LockstepReactor
@_exported import LockstepScreens
@_exported import LockstepStore
@_exported import LockstepTime
