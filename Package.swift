// swift-tools-version: 6.1
import PackageDescription

let package = Package(
  name: "lockstep",
  targets: [
    .target(name: "JSON"),
    .target(name: "HTTP", dependencies: ["JSON"]),
    .systemLibrary(name: "CLinux"),
    .target(name: "HTTPServer", dependencies: ["CLinux", "HTTP"]),
  ],
  swiftLanguageModes: [.v6]
)
