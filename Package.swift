// swift-tools-version: 6.1
import PackageDescription

let package = Package(
  name: "lockstep",
  products: [
    .executable(name: "lockstep", targets: ["LockstepCommand"]),
  ],
  targets: [
    .target(name: "JSON"),
    .target(name: "HTTP", dependencies: ["JSON"]),
    .systemLibrary(name: "CLinux"),
    .systemLibrary(name: "CZlib", providers: [.apt(["zlib1g-dev"])]),
    .target(name: "HTTPServer", dependencies: ["CLinux", "HTTP"]),
    .target(name: "Lockstep", dependencies: ["CLinux", "CZlib", "HTTP", "HTTPServer", "JSON"]),
    .executableTarget(name: "LockstepCommand", dependencies: ["Lockstep", "HTTPServer"]),
  ],
  swiftLanguageModes: [.v6]
)
