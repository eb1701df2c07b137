// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "lockstep",
  products: [
    .executable(name: "lockstep", targets: ["LockstepCommand"])
  ],
  targets: [
    .target(name: "JSON"),
    .target(name: "HTTP", dependencies: ["JSON"]),
    .systemLibrary(name: "CLinux"),
    .systemLibrary(name: "CZlib", providers: [.apt(["zlib1g-dev"])]),
    .target(name: "HTTPServer", dependencies: ["CLinux", "HTTP"]),
    .target(name: "Lockstep", dependencies: ["CLinux", "CZlib", "HTTP", "HTTPServer", "JSON"]),
    .executableTarget(name: "LockstepCommand", dependencies: ["Lockstep", "HTTPServer"]),
    .testTarget(name: "HTTPServerTests", dependencies: ["HTTPServer"]),
    .testTarget(name: "HTTPTests", dependencies: ["HTTP"]),
  ],
  swiftLanguageModes: [.v6]
)

// An async function runs where its caller runs unless it says otherwise (SE-0461). Without this every call and every
// return of one asks the runtime which executor the task prefers: a third of what a request costs outside the kernel.
for target in package.targets where target.type != .system {
  target.swiftSettings = (target.swiftSettings ?? []) + [.enableUpcomingFeature("NonisolatedNonsendingByDefault")]
}
