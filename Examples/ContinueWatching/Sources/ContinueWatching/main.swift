import LockstepCommand
import WatchingModule

ServerCommand.run(modules: [.watching])
