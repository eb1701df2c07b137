// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "state-server",
  products: [.executable(name: "state-server", targets: ["Server"])],
  dependencies: [.package(name: "lockstep", path: Context.environment["LOCKSTEP_PACKAGE"] ?? "../..")],
  targets: [
    .executableTarget(name: "Server", dependencies: [.product(name: "Lockstep", package: "lockstep")]),
    .testTarget(
      name: "ServerTests",
      dependencies: [
        "Server", .product(name: "Lockstep", package: "lockstep"),
        .product(name: "LockstepReactorTesting", package: "lockstep"),
      ]
    ),
  ],
  swiftLanguageModes: [.v6]
)
