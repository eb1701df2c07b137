// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "shopping-screens",
  dependencies: [.package(name: "lockstep", path: "../..")],
  targets: [
    .executableTarget(name: "ShoppingScreens", dependencies: [.product(name: "Lockstep", package: "lockstep")]),
    .testTarget(
      name: "ShoppingScreensTests",
      dependencies: [
        "ShoppingScreens", .product(name: "Lockstep", package: "lockstep"),
        .product(name: "LockstepReactorTesting", package: "lockstep"),
      ]
    ),
  ],
  swiftLanguageModes: [.v6]
)
