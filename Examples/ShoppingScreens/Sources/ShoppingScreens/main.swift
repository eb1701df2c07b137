import Lockstep

ServerCommand.run(
  modules: [.list(Shopping(), table: ShoppingTable())],
  screens: [.shoppingForm, .itemsToBuy]
)
