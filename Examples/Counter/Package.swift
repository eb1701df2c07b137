// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "counter",
  platforms: [.macOS(.v15), .iOS(.v18)],
  dependencies: [.package(name: "lockstep", path: "../..")],
  targets: [
    .target(name: "Counter", dependencies: [.product(name: "LockstepReactor", package: "lockstep")]),
    .testTarget(
      name: "CounterTests",
      dependencies: [
        "Counter", .product(name: "LockstepReactor", package: "lockstep"),
        .product(name: "LockstepReactorTesting", package: "lockstep"),
      ]
    ),
  ],
  swiftLanguageModes: [.v6]
)
