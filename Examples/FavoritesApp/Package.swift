// swift-tools-version: 6.2
import PackageDescription

// The app and the program for the terminal use the same models.
let package = Package(
  name: "favorites-app",
  platforms: [.macOS(.v15), .iOS(.v18)],
  products: [
    .library(name: "FavoritesViews", targets: ["FavoritesViews"]),
    .executable(name: "FavoritesApp", targets: ["FavoritesApp"]),
    .executable(name: "FavoritesTerminal", targets: ["FavoritesTerminal"]),
  ],
  dependencies: [.package(name: "lockstep", path: "../..")],
  targets: [
    .target(
      name: "FavoritesModel",
      dependencies: [
        .product(name: "LockstepClient", package: "lockstep"),
        .product(name: "LockstepClientUI", package: "lockstep"),
        .product(name: "LockstepReactor", package: "lockstep"),
      ]
    ),
    .target(
      name: "FavoritesViews",
      dependencies: [
        "FavoritesModel", .product(name: "LockstepClient", package: "lockstep"),
        .product(name: "LockstepClientUI", package: "lockstep"),
        .product(name: "LockstepReactor", package: "lockstep"),
      ]
    ),
    .executableTarget(name: "FavoritesApp", dependencies: ["FavoritesViews"]),
    .executableTarget(
      name: "FavoritesTerminal",
      dependencies: [
        "FavoritesModel", .product(name: "LockstepClient", package: "lockstep"),
        .product(name: "LockstepReactor", package: "lockstep"),
      ]
    ),
    .testTarget(
      name: "FavoritesAppTests",
      dependencies: [
        "FavoritesModel", "FavoritesTerminal", .product(name: "LockstepClient", package: "lockstep"),
        .product(name: "LockstepClientTesting", package: "lockstep"),
        .product(name: "LockstepReactor", package: "lockstep"),
      ]
    ),
  ],
  swiftLanguageModes: [.v6]
)
