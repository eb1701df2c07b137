// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "lockstep",
  products: [
    .executable(name: "lockstep", targets: ["LockstepCommand"])
  ],
  targets: [
    // C libraries of the system.
    .systemLibrary(name: "CLinux"),
    .systemLibrary(name: "CSQLite", providers: [.apt(["libsqlite3-dev"])]),
    .systemLibrary(name: "CSodium", providers: [.apt(["libsodium-dev"])]),
    .systemLibrary(name: "CZlib", providers: [.apt(["zlib1g-dev"])]),

    // The rooms, from those that know nobody to the product. Arrows only point up this list.
    .target(name: "JSON"),
    .target(name: "Workers"),
    .target(name: "SQLite", dependencies: ["CSQLite"]),
    .target(name: "Migrations", path: "migrations", resources: [.embedInCode("0001_store.sql")]),
    .target(name: "HTTP", dependencies: ["JSON"]),
    .target(name: "HTTPServer", dependencies: ["CLinux", "HTTP", "Workers"]),
    .target(
      name: "Lockstep",
      dependencies: ["CSodium", "CZlib", "HTTP", "HTTPServer", "JSON", "Migrations", "SQLite", "Workers"]
    ),
    .executableTarget(name: "LockstepCommand", dependencies: ["Lockstep", "HTTPServer", "Workers"]),

    // Tests, one target a room; Acceptance drives the binary from outside.
    .target(name: "TestSupport", dependencies: ["Workers"], path: "Tests/TestSupport"),
    .testTarget(name: "JSONTests", dependencies: ["JSON", "TestSupport"]),
    .testTarget(name: "WorkersTests", dependencies: ["Workers"]),
    .testTarget(name: "SQLiteTests", dependencies: ["SQLite", "TestSupport"]),
    .testTarget(name: "MigrationsTests", dependencies: ["Migrations"]),
    .testTarget(name: "HTTPTests", dependencies: ["HTTP"]),
    .testTarget(name: "HTTPServerTests", dependencies: ["HTTPServer", "TestSupport"]),
    .testTarget(
      name: "LockstepTests",
      dependencies: ["Lockstep", "Migrations", "SQLite", "TestSupport", "Workers"]
    ),

    // Benchmarks, run by scripts/bench.
    .executableTarget(name: "json-benchmark", dependencies: ["JSON"], path: "Benchmarks/JSON"),
  ],
  swiftLanguageModes: [.v6]
)

// An async function runs where its caller runs unless it says otherwise (SE-0461). Without this every call and every
// return of one asks the runtime which executor the task prefers: a third of what a request costs outside the kernel.
for target in package.targets where target.type != .system {
  target.swiftSettings = (target.swiftSettings ?? []) + [.enableUpcomingFeature("NonisolatedNonsendingByDefault")]
}
