import Lockstep
import WatchingModule

ServerCommand.run(modules: [.watching])
