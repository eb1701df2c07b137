import LockstepCommand

ServerCommand.run(modules: [.list(Shopping())])
