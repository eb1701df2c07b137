// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "lockstep",
  // What the library products need: `Synchronization.Mutex` and typed task executors. The server itself is for Linux.
  platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
  products: [
    .executable(name: "lockstep", targets: ["LockstepExecutable"]),
    .library(name: "Lockstep", targets: ["JSON", "Lockstep", "LockstepCommand", "Migrations", "Reactor", "SQLite"]),
    .library(name: "Reactor", targets: ["Reactor"]),
    .library(name: "ReactorTesting", targets: ["ReactorTesting"]),
  ],
  targets: [
    // C libraries of the system; libcurl's is only loaded by who needs it, and not linked.
    .systemLibrary(name: "CCurl", providers: [.apt(["libcurl4-openssl-dev"])]),
    .systemLibrary(name: "CLinux"),
    .systemLibrary(name: "CSQLite", providers: [.apt(["libsqlite3-dev"])]),
    .systemLibrary(name: "CSodium", providers: [.apt(["libsodium-dev"])]),
    .systemLibrary(name: "CZlib", providers: [.apt(["zlib1g-dev"])]),

    // The rooms, from those that know nobody to the product. Arrows only point up this list.
    .target(name: "JSON"),
    .target(name: "Reactor"),
    .target(name: "ReactorTesting", dependencies: ["Reactor"]),
    .target(name: "Workers"),
    .target(name: "SQLite", dependencies: ["CSQLite", "Workers"]),
    .target(
      name: "Migrations",
      path: "migrations",
      resources: [
        .embedInCode("0001_store.sql"), .embedInCode("0002_accounts.sql"), .embedInCode("0003_state.sql"),
        .embedInCode("0004_eras.sql"), .embedInCode("0005_history_size.sql"), .embedInCode("0006_modules.sql"),
        .embedInCode("0007_orders.sql"),
      ]
    ),
    .target(name: "HTTP", dependencies: ["JSON"]),
    .target(name: "HTTPServer", dependencies: ["CLinux", "HTTP", "Workers"]),
    .target(name: "HTTPClient", dependencies: ["CCurl", "Workers"]),
    .target(
      name: "Lockstep",
      dependencies: [
        "CLinux", "CSodium", "CZlib", "HTTP", "HTTPClient", "HTTPServer", "JSON", "Migrations", "Reactor", "SQLite",
        "Workers",
      ]
    ),
    .target(name: "LockstepCommand", dependencies: ["HTTPServer", "JSON", "Lockstep", "Workers"]),
    .executableTarget(name: "LockstepExecutable", dependencies: ["LockstepCommand"]),

    // Tests, one target a room; Acceptance drives the binary from outside.
    .target(name: "TestSupport", dependencies: ["HTTP", "HTTPServer", "Workers"], path: "Tests/TestSupport"),
    .testTarget(name: "JSONTests", dependencies: ["JSON", "TestSupport"]),
    .testTarget(name: "ReactorTests", dependencies: ["Reactor", "ReactorTesting"]),
    .testTarget(name: "ReactorTestingTests", dependencies: ["Reactor", "ReactorTesting"]),
    .testTarget(name: "WorkersTests", dependencies: ["Workers"]),
    .testTarget(name: "SQLiteTests", dependencies: ["CSQLite", "SQLite", "TestSupport", "Workers"]),
    .testTarget(name: "MigrationsTests", dependencies: ["Migrations"]),
    .testTarget(name: "HTTPTests", dependencies: ["HTTP"]),
    .testTarget(name: "HTTPServerTests", dependencies: ["HTTPServer", "TestSupport", "Workers"]),
    .testTarget(
      name: "HTTPClientTests",
      dependencies: ["HTTP", "HTTPClient", "HTTPServer", "TestSupport", "Workers"]
    ),
    .testTarget(
      name: "LockstepTests",
      dependencies: [
        "CSQLite", "CZlib", "HTTP", "HTTPClient", "HTTPServer", "JSON", "Lockstep", "Migrations", "Reactor",
        "ReactorTesting", "SQLite", "TestSupport", "Workers",
      ]
    ),
    .testTarget(name: "LockstepCommandTests", dependencies: ["HTTP", "Lockstep", "LockstepCommand"]),
    .testTarget(
      name: "Acceptance",
      dependencies: ["JSON", "LockstepExecutable", "SQLite", "ShoppingList", "TestSupport", "Workers"]
    ),

    // Examples: what somebody builds on the library, with nothing but what is public. Each is a package of its own too.
    .executableTarget(
      name: "ShoppingList",
      dependencies: ["JSON", "Lockstep", "LockstepCommand", "Migrations", "Reactor", "SQLite"],
      path: "Examples/ShoppingList/Sources/ShoppingList"
    ),
    .testTarget(
      name: "ShoppingListTests",
      dependencies: ["Lockstep", "Reactor", "ReactorTesting", "ShoppingList"],
      path: "Examples/ShoppingList/Tests/ShoppingListTests"
    ),

    // Benchmarks, run by scripts/bench.
    .executableTarget(name: "json-benchmark", dependencies: ["JSON"], path: "Benchmarks/JSON"),
    .executableTarget(name: "reactor-benchmark", dependencies: ["Reactor"], path: "Benchmarks/Reactor"),
    .executableTarget(name: "writes-benchmark", dependencies: ["SQLite", "Workers"], path: "Benchmarks/Writes"),
  ],
  swiftLanguageModes: [.v6]
)

// An async function of the server runs where its caller runs unless it says otherwise (SE-0461). Without this every call
// and every return of one asks the runtime which executor the task prefers: a third of what a request costs outside the
// kernel. The reactor's rooms are for everyone and don't depend on it, and nor does what others build.
let openRooms: Set = [
  "Reactor", "ReactorTesting", "ReactorTests", "ReactorTestingTests", "ShoppingList", "ShoppingListTests",
  "reactor-benchmark",
]
for target in package.targets where target.type != .system && !openRooms.contains(target.name) {
  target.swiftSettings = (target.swiftSettings ?? []) + [.enableUpcomingFeature("NonisolatedNonsendingByDefault")]
}
