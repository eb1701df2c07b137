import Lockstep

ServerCommand.run(
  modules: [.list(Shopping())],
  screens: [.shoppingForm, .itemsToBuy]
)
