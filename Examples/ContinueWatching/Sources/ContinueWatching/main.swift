import LockstepCommand
import WatchingModule

ServerCommand.run([.watching])
