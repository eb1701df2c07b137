// swift-tools-version: 6.2
import PackageDescription

// The module is a target of its own, because the server and the app both use it.
let package = Package(
  name: "continue-watching",
  platforms: [.macOS(.v15), .iOS(.v18)],
  dependencies: [.package(name: "lockstep", path: "../..")],
  targets: [
    .target(name: "WatchingModule", dependencies: [.product(name: "LockstepClient", package: "lockstep")]),
    .target(
      name: "WatchingClient",
      dependencies: [
        "WatchingModule", .product(name: "LockstepClient", package: "lockstep"),
        .product(name: "LockstepReactor", package: "lockstep"),
      ]
    ),
    .executableTarget(
      name: "ContinueWatching",
      dependencies: ["WatchingModule", .product(name: "Lockstep", package: "lockstep")]
    ),
    .testTarget(
      name: "ContinueWatchingTests",
      dependencies: [
        "WatchingClient", "WatchingModule", .product(name: "LockstepClientTesting", package: "lockstep"),
        .product(name: "LockstepReactorTesting", package: "lockstep"),
      ]
    ),
  ],
  swiftLanguageModes: [.v6]
)
