import LockstepCommand

ServerCommand.run(modules: [.shopping], screens: [.shoppingForm, .itemsToBuy])
