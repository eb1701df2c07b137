import LockstepCommand

ServerCommand.run()
