// Re-exports everything that a server of your own needs, so that it can import `Lockstep` alone.

@_exported import LockstepBuiltInScreens
@_exported import LockstepCollections
@_exported import LockstepCommand
@_exported import LockstepComposition
@_exported import LockstepJSON
@_exported import LockstepReactor
@_exported import LockstepScreens
@_exported import LockstepStore
@_exported import LockstepTime
