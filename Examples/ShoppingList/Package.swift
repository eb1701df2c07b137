// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "shopping-list",
  dependencies: [.package(name: "lockstep", path: "../..")],
  targets: [
    .executableTarget(name: "ShoppingList", dependencies: [.product(name: "Lockstep", package: "lockstep")]),
    .testTarget(
      name: "ShoppingListTests",
      dependencies: [
        "ShoppingList", .product(name: "Lockstep", package: "lockstep"),
        .product(name: "LockstepReactorTesting", package: "lockstep"),
      ]
    ),
  ],
  swiftLanguageModes: [.v6]
)
