import Lockstep

ServerCommand.run(modules: [.list(Shopping())])
