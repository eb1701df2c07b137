import LockstepCommand

ServerCommand.run(modules: [.notes], screens: [.newNote])
