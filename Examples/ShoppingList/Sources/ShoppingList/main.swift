import LockstepCommand

ServerCommand.run([.shopping])
