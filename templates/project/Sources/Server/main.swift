import LockstepCommand

ServerCommand.run(modules: [.list(Notes())], screens: [.newNote])
