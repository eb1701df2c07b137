import Lockstep

ServerCommand.run(modules: [.list(Notes())], screens: [.newNote])
