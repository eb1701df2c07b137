import LockstepCommand

ServerCommand.run([.notes])
