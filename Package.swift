// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "lockstep",
  // The library products need these versions for `Synchronization`, typed failures of async sequences and task
  // executors; scripts/apple checks that nothing needs a newer one.
  // The server itself is for Linux.
  platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
  products: [
    .executable(name: "lockstep", targets: ["LockstepExecutable"]),
    .library(
      name: "Lockstep",
      targets: ["LockstepJSON", "Lockstep", "LockstepCommand", "LockstepReactor"]
    ),
    // Without the server. A module that an app and its server share imports the collections.
    .library(
      name: "LockstepClient",
      targets: ["LockstepClient", "LockstepCollections", "LockstepJSON", "LockstepReactor", "LockstepTime"]
    ),
    .library(name: "LockstepClientUI", targets: ["LockstepClientUI"]),
    .library(name: "LockstepClientTesting", targets: ["LockstepClientTesting"]),
    .library(name: "LockstepReactor", targets: ["LockstepReactor"]),
    .library(name: "LockstepReactorTesting", targets: ["LockstepReactorTesting"]),
    .library(name: "LockstepServerTesting", targets: ["LockstepServerTesting"]),
  ],
  targets: [
    // C libraries of the system. libcrypto, libcrypt, libcurl and libpq are not linked; they are loaded when they are
    // needed.
    .systemLibrary(name: "CLockstepCrypto", providers: [.apt(["libssl-dev", "libcrypt-dev"])]),
    .systemLibrary(name: "CLockstepCurl", providers: [.apt(["libcurl4-openssl-dev"])]),
    .systemLibrary(name: "CLockstepLinux"),
    .systemLibrary(name: "CLockstepPostgreSQL", providers: [.apt(["libpq-dev"])]),
    .systemLibrary(name: "CLockstepSQLite", providers: [.apt(["libsqlite3-dev"])]),
    .systemLibrary(name: "CLockstepSodium", providers: [.apt(["libsodium-dev"])]),
    .systemLibrary(name: "CLockstepZlib", providers: [.apt(["zlib1g-dev"])]),

    // The targets from the bottom up: a target imports only targets above it in this list.
    .target(name: "LockstepJSON"),
    .target(name: "LockstepSchema", dependencies: ["LockstepJSON"]),
    .target(name: "LockstepReactor"),
    .target(name: "LockstepReactorTesting", dependencies: ["LockstepReactor"]),
    .target(name: "LockstepThreading"),
    .target(name: "LockstepSQLite", dependencies: ["CLockstepSQLite"]),
    .target(
      name: "LockstepSQLiteStore",
      dependencies: ["CLockstepSQLite", "LockstepSQLite", "LockstepThreading"]
    ),
    .target(name: "LockstepPostgreSQL", dependencies: ["CLockstepPostgreSQL"]),
    .target(
      name: "LockstepMigrations",
      path: "migrations",
      resources: [.embedInCode("sqlite"), .embedInCode("postgresql")]
    ),
    .target(
      name: "LockstepWebFiles",
      path: "web",
      exclude: ["README.md", "account-tests", "browser", "inspector-tests", "tests"],
      resources: [
        .embedInCode("lockstep.js"), .embedInCode("lockstep.d.ts"), .embedInCode("account"), .embedInCode("inspector"),
      ]
    ),
    .target(
      name: "LockstepTemplates",
      path: "templates",
      sources: ["Templates.swift"],
      resources: [
        .embedInCode("JSONValue.swift"), .embedInCode("MemberChange.swift"), .embedInCode("ServerTime.swift"),
        .embedInCode("project"),
      ]
    ),
    .target(name: "LockstepTime"),
    .target(name: "LockstepLogging", dependencies: ["LockstepJSON", "LockstepThreading", "LockstepTime"]),
    .target(name: "LockstepHTTP", dependencies: ["LockstepJSON", "LockstepTime"]),
    .target(
      name: "LockstepHTTPServer",
      dependencies: ["CLockstepLinux", "LockstepHTTP", "LockstepThreading", "LockstepTime"]
    ),
    .target(name: "LockstepHTTPClient", dependencies: ["CLockstepCurl", "LockstepThreading"]),
    .target(name: "LockstepCryptography", dependencies: ["CLockstepCrypto", "CLockstepSodium"]),
    .target(
      name: "LockstepIdentity",
      dependencies: [
        "CLockstepSodium", "LockstepCryptography", "LockstepHTTPClient", "LockstepJSON", "LockstepThreading",
        "LockstepTime",
      ]
    ),
    .target(
      name: "LockstepMail",
      dependencies: ["LockstepHTTP", "LockstepHTTPClient", "LockstepTime"],
      resources: [.embedInCode("Texts")]
    ),
    .target(
      name: "LockstepCollections",
      dependencies: ["LockstepJSON", "LockstepSchema", "LockstepTime"]
    ),
    .target(
      name: "LockstepStore",
      dependencies: [
        "CLockstepSodium", "LockstepCollections", "LockstepJSON", "LockstepLogging", "LockstepMigrations",
        "LockstepPostgreSQL", "LockstepSQLite", "LockstepSQLiteStore", "LockstepThreading", "LockstepTime",
      ]
    ),
    .target(
      name: "LockstepAccounts",
      dependencies: [
        "CLockstepSodium", "LockstepCollections", "LockstepCryptography", "LockstepIdentity", "LockstepJSON",
        "LockstepStore", "LockstepThreading", "LockstepTime",
      ]
    ),
    .target(
      name: "LockstepSync",
      dependencies: [
        "LockstepAccounts", "LockstepCollections", "LockstepHTTP", "LockstepJSON", "LockstepStore", "LockstepThreading",
        "LockstepTime",
      ]
    ),
    .target(
      name: "LockstepWebhooks",
      dependencies: [
        "CLockstepSodium", "LockstepAccounts", "LockstepCollections", "LockstepHTTPClient", "LockstepJSON",
        "LockstepLogging",
        "LockstepStore", "LockstepSync", "LockstepThreading", "LockstepTime",
      ]
    ),
    .target(
      name: "LockstepModules",
      dependencies: ["LockstepCollections", "LockstepJSON", "LockstepReactor"]
    ),
    .target(
      name: "LockstepClient",
      dependencies: [
        "LockstepCollections", "LockstepJSON", "LockstepModules", "LockstepReactor", "LockstepSQLite", "LockstepTime",
      ]
    ),
    .target(name: "LockstepClientUI", dependencies: ["LockstepClient", "LockstepJSON", "LockstepReactor"]),
    .target(
      name: "LockstepClientTesting",
      dependencies: [
        "LockstepClient", "LockstepCollections", "LockstepJSON", "LockstepModules", "LockstepReactor", "LockstepTime",
      ]
    ),
    .target(
      name: "LockstepMaintenance",
      dependencies: [
        "LockstepAccounts", "LockstepCollections", "LockstepHTTP", "LockstepJSON", "LockstepLogging",
        "LockstepModules", "LockstepPostgreSQL", "LockstepSQLite", "LockstepSQLiteStore", "LockstepStore",
        "LockstepSync", "LockstepThreading", "LockstepTime",
      ]
    ),
    .target(
      name: "LockstepScreens",
      dependencies: [
        "LockstepAccounts", "LockstepCollections", "LockstepHTTP", "LockstepJSON", "LockstepLogging", "LockstepModules",
        "LockstepReactor", "LockstepStore", "LockstepSync", "LockstepThreading", "LockstepTime",
      ]
    ),
    // Without access to `package` declarations: what these screens use, a program's own screens can use too.
    .target(
      name: "LockstepBuiltInScreens",
      dependencies: [
        "LockstepAccounts", "LockstepCollections", "LockstepHTTPClient", "LockstepJSON", "LockstepReactor",
        "LockstepScreens", "LockstepThreading", "LockstepTime",
      ],
      packageAccess: false
    ),
    .target(
      name: "LockstepMiddleware",
      dependencies: [
        "CLockstepZlib", "LockstepAccounts", "LockstepCollections", "LockstepHTTP", "LockstepHTTPServer",
        "LockstepJSON", "LockstepLogging", "LockstepPostgreSQL", "LockstepSQLite", "LockstepSQLiteStore",
        "LockstepStore", "LockstepSync", "LockstepThreading",
      ]
    ),
    .target(
      name: "LockstepOpenAPI",
      dependencies: [
        "LockstepAccounts", "LockstepCollections", "LockstepHTTP", "LockstepJSON", "LockstepMiddleware",
        "LockstepStore", "LockstepSync",
      ]
    ),
    .target(
      name: "LockstepRoutes",
      dependencies: [
        "LockstepAccounts", "LockstepCollections", "LockstepHTTP", "LockstepHTTPServer", "LockstepIdentity",
        "LockstepJSON", "LockstepLogging", "LockstepMaintenance", "LockstepMiddleware", "LockstepModules",
        "LockstepOpenAPI", "LockstepReactor", "LockstepSQLiteStore", "LockstepScreens", "LockstepStore", "LockstepSync",
        "LockstepThreading", "LockstepTime", "LockstepWebFiles", "LockstepWebhooks",
      ]
    ),
    .target(
      name: "LockstepAdministration",
      dependencies: [
        "LockstepAccounts", "LockstepCollections", "LockstepHTTP", "LockstepIdentity", "LockstepJSON",
        "LockstepMaintenance", "LockstepMiddleware", "LockstepModules", "LockstepOpenAPI", "LockstepRoutes",
        "LockstepScreens", "LockstepStore", "LockstepSync", "LockstepThreading", "LockstepTime", "LockstepWebhooks",
      ]
    ),
    .target(
      name: "LockstepComposition",
      dependencies: [
        "CLockstepLinux", "LockstepAccounts", "LockstepAdministration", "LockstepBuiltInScreens", "LockstepCollections",
        "LockstepHTTP", "LockstepHTTPClient", "LockstepHTTPServer", "LockstepIdentity", "LockstepJSON",
        "LockstepLogging", "LockstepMail", "LockstepMaintenance", "LockstepMiddleware", "LockstepModules",
        "LockstepReactor", "LockstepRoutes", "LockstepSQLiteStore", "LockstepScreens", "LockstepStore", "LockstepSync",
        "LockstepThreading", "LockstepTime", "LockstepWebhooks",
      ]
    ),
    .target(
      name: "LockstepCommand",
      dependencies: [
        "LockstepAccounts", "LockstepCollections", "LockstepComposition", "LockstepCryptography", "LockstepHTTP",
        "LockstepHTTPClient", "LockstepHTTPServer", "LockstepIdentity", "LockstepLogging", "LockstepMail",
        "LockstepMaintenance", "LockstepMiddleware", "LockstepPostgreSQL", "LockstepSQLite", "LockstepScreens",
        "LockstepStore", "LockstepSync", "LockstepTemplates", "LockstepThreading", "LockstepTime",
      ]
    ),
    // Everything that a server of your own needs, as one module to import.
    .target(
      name: "Lockstep",
      dependencies: [
        "LockstepBuiltInScreens", "LockstepCollections", "LockstepCommand", "LockstepComposition", "LockstepJSON",
        "LockstepReactor", "LockstepScreens", "LockstepStore", "LockstepTime",
      ]
    ),
    .executableTarget(name: "LockstepExecutable", dependencies: ["LockstepCommand"]),
    // The whole server for tests of apps, so it is for Linux too.
    .target(
      name: "LockstepServerTesting",
      dependencies: [
        "LockstepAccounts", "LockstepBuiltInScreens", "LockstepClient", "LockstepComposition", "LockstepHTTP",
        "LockstepJSON", "LockstepReactor", "LockstepReactorTesting", "LockstepScreens", "LockstepThreading",
        "LockstepTime",
      ]
    ),

    // Tests, one target for each target of the library. The acceptance tests drive the binary from
    // outside.
    .target(
      name: "LockstepTestSupport",
      dependencies: ["LockstepHTTP", "LockstepHTTPServer", "LockstepJSON", "LockstepThreading", "LockstepTime"],
      path: "Tests/LockstepTestSupport",
      resources: [.embedInCode("hostile-catalogue.json"), .embedInCode("test-keys.json")]
    ),
    .target(name: "CAllocationCounter", path: "Tests/CAllocationCounter"),
    // Fixtures of the tests of several targets: of states, stores and accounts, and of whole servers. They are test
    // targets, so only a build of tests compiles them.
    .testTarget(
      name: "LockstepStateTestSupport",
      dependencies: [
        "CLockstepSQLite", "LockstepAccounts", "LockstepCollections", "LockstepJSON", "LockstepModules",
        "LockstepPostgreSQL", "LockstepSQLite", "LockstepSQLiteStore", "LockstepSchema", "LockstepStore",
        "LockstepSync", "LockstepTestSupport", "LockstepThreading", "LockstepTime",
      ]
    ),
    .testTarget(
      name: "LockstepServerTestSupport",
      dependencies: [
        "CLockstepZlib", "LockstepAccounts", "LockstepCollections", "LockstepComposition", "LockstepHTTP",
        "LockstepHTTPClient", "LockstepHTTPServer", "LockstepJSON", "LockstepLogging", "LockstepMaintenance",
        "LockstepMiddleware", "LockstepModules", "LockstepOpenAPI", "LockstepPostgreSQL", "LockstepReactor",
        "LockstepReactorTesting", "LockstepRoutes", "LockstepSQLite", "LockstepScreens", "LockstepStateTestSupport",
        "LockstepStore", "LockstepSync", "LockstepTestSupport", "LockstepThreading", "LockstepTime", "LockstepWebhooks",
      ]
    ),
    .testTarget(
      name: "LockstepJSONTests",
      dependencies: ["CAllocationCounter", "LockstepJSON", "LockstepTestSupport"]
    ),
    .testTarget(name: "LockstepSchemaTests", dependencies: ["CAllocationCounter", "LockstepJSON", "LockstepSchema"]),
    .testTarget(name: "LockstepReactorTests", dependencies: ["LockstepReactor", "LockstepReactorTesting"]),
    .testTarget(name: "LockstepReactorTestingTests", dependencies: ["LockstepReactor", "LockstepReactorTesting"]),
    .testTarget(
      name: "LockstepClientTests",
      dependencies: [
        "LockstepClient", "LockstepClientTesting", "LockstepClientUI", "LockstepCollections", "LockstepJSON",
        "LockstepReactor", "LockstepReactorTesting", "LockstepSQLite", "LockstepTestSupport", "LockstepTime",
      ]
    ),
    .testTarget(name: "LockstepThreadingTests", dependencies: ["LockstepTestSupport", "LockstepThreading"]),
    .testTarget(
      name: "LockstepSQLiteTests",
      dependencies: ["LockstepSQLite", "LockstepTestSupport"]
    ),
    .testTarget(
      name: "LockstepSQLiteStoreTests",
      dependencies: [
        "CLockstepSQLite", "LockstepSQLite", "LockstepSQLiteStore", "LockstepTestSupport", "LockstepThreading",
      ]
    ),
    .testTarget(
      name: "LockstepPostgreSQLTests",
      dependencies: ["LockstepPostgreSQL", "LockstepTestSupport", "LockstepThreading"]
    ),
    .testTarget(name: "LockstepMigrationsTests", dependencies: ["LockstepMigrations"]),
    .testTarget(name: "LockstepTimeTests", dependencies: ["LockstepTime"]),
    .testTarget(
      name: "LockstepLoggingTests",
      dependencies: ["LockstepJSON", "LockstepLogging", "LockstepTestSupport", "LockstepThreading", "LockstepTime"]
    ),
    .testTarget(name: "LockstepHTTPTests", dependencies: ["LockstepHTTP", "LockstepJSON", "LockstepTime"]),
    .testTarget(
      name: "LockstepHTTPServerTests",
      dependencies: ["LockstepHTTP", "LockstepHTTPServer", "LockstepTestSupport", "LockstepThreading", "LockstepTime"]
    ),
    .testTarget(
      name: "LockstepHTTPClientTests",
      dependencies: ["LockstepHTTP", "LockstepHTTPClient", "LockstepTestSupport"]
    ),
    .testTarget(
      name: "LockstepCryptographyTests",
      dependencies: ["LockstepCryptography", "LockstepJSON", "LockstepTestSupport"],
      resources: [.embedInCode("signature-vectors.json")]
    ),
    .testTarget(
      name: "LockstepIdentityTests",
      dependencies: [
        "LockstepCryptography", "LockstepHTTP", "LockstepHTTPClient", "LockstepIdentity", "LockstepJSON",
        "LockstepTestSupport", "LockstepThreading", "LockstepTime",
      ]
    ),
    .testTarget(
      name: "LockstepMailTests",
      dependencies: ["LockstepHTTPClient", "LockstepMail", "LockstepTestSupport", "LockstepTime"]
    ),
    .testTarget(
      name: "LockstepCollectionsTests",
      dependencies: [
        "CAllocationCounter", "LockstepCollections", "LockstepJSON", "LockstepReactor", "LockstepStateTestSupport",
        "LockstepTestSupport", "LockstepTime",
      ]
    ),
    .testTarget(
      name: "LockstepStoreTests",
      dependencies: [
        "LockstepAccounts", "LockstepCollections", "LockstepJSON", "LockstepLogging", "LockstepMaintenance",
        "LockstepMigrations", "LockstepModules", "LockstepPostgreSQL", "LockstepSQLite", "LockstepStateTestSupport",
        "LockstepStore", "LockstepSync", "LockstepTestSupport", "LockstepThreading", "LockstepTime",
      ]
    ),
    .testTarget(
      name: "LockstepWebhooksTests",
      dependencies: [
        "LockstepCollections", "LockstepHTTP", "LockstepJSON", "LockstepLogging", "LockstepPostgreSQL", "LockstepStore",
        "LockstepTestSupport", "LockstepThreading", "LockstepTime", "LockstepWebhooks",
      ]
    ),
    .testTarget(
      name: "LockstepAccountsTests",
      dependencies: [
        "LockstepAccounts", "LockstepCollections", "LockstepJSON", "LockstepSQLite", "LockstepSQLiteStore",
        "LockstepStateTestSupport", "LockstepStore", "LockstepTestSupport", "LockstepThreading", "LockstepTime",
      ]
    ),
    .testTarget(
      name: "LockstepSyncTests",
      dependencies: [
        "LockstepAccounts", "LockstepCollections", "LockstepHTTP", "LockstepJSON", "LockstepModules",
        "LockstepPostgreSQL", "LockstepSQLite", "LockstepStateTestSupport", "LockstepStore", "LockstepSync",
        "LockstepTestSupport", "LockstepThreading", "LockstepTime",
      ]
    ),
    .testTarget(
      name: "LockstepModulesTests",
      dependencies: [
        "LockstepCollections", "LockstepJSON", "LockstepModules", "LockstepStateTestSupport", "LockstepTestSupport",
        "LockstepTime",
      ]
    ),
    .testTarget(
      name: "LockstepMaintenanceTests",
      dependencies: [
        "LockstepAccounts", "LockstepCollections", "LockstepComposition", "LockstepHTTP", "LockstepHTTPServer",
        "LockstepJSON", "LockstepLogging", "LockstepMaintenance", "LockstepMigrations", "LockstepModules",
        "LockstepPostgreSQL", "LockstepRoutes", "LockstepSQLite", "LockstepSQLiteStore", "LockstepServerTestSupport",
        "LockstepStateTestSupport", "LockstepStore", "LockstepSync", "LockstepTestSupport", "LockstepThreading",
        "LockstepTime",
      ]
    ),
    .testTarget(
      name: "LockstepScreensTests",
      dependencies: [
        "LockstepAccounts", "LockstepBuiltInScreens", "LockstepCollections", "LockstepComposition", "LockstepHTTP",
        "LockstepHTTPClient", "LockstepJSON", "LockstepLogging", "LockstepMiddleware", "LockstepModules",
        "LockstepReactor", "LockstepReactorTesting", "LockstepScreens", "LockstepServerTestSupport",
        "LockstepStateTestSupport", "LockstepStore", "LockstepSync", "LockstepTestSupport", "LockstepThreading",
        "LockstepTime",
      ]
    ),
    .testTarget(
      name: "LockstepMiddlewareTests",
      dependencies: [
        "LockstepAccounts", "LockstepCollections", "LockstepComposition", "LockstepHTTP", "LockstepHTTPServer",
        "LockstepJSON", "LockstepLogging", "LockstepMail", "LockstepMiddleware", "LockstepRoutes",
        "LockstepServerTestSupport", "LockstepStateTestSupport", "LockstepTestSupport", "LockstepThreading",
      ]
    ),
    .testTarget(
      name: "LockstepRoutesTests",
      dependencies: [
        "LockstepAccounts", "LockstepAdministration", "LockstepClient", "LockstepCollections", "LockstepComposition",
        "LockstepHTTP", "LockstepHTTPServer", "LockstepIdentity", "LockstepJSON", "LockstepMail", "LockstepMaintenance",
        "LockstepMiddleware", "LockstepModules", "LockstepRoutes", "LockstepSQLite", "LockstepScreens",
        "LockstepServerTestSupport", "LockstepStateTestSupport", "LockstepStore", "LockstepSync", "LockstepTestSupport",
        "LockstepThreading", "LockstepTime", "LockstepWebFiles", "LockstepWebhooks",
      ]
    ),
    .testTarget(
      name: "LockstepCompositionTests",
      dependencies: [
        "Lockstep", "LockstepAccounts", "LockstepCollections", "LockstepComposition", "LockstepHTTP",
        "LockstepHTTPServer", "LockstepJSON", "LockstepLogging", "LockstepMaintenance", "LockstepMiddleware",
        "LockstepMigrations", "LockstepModules", "LockstepPostgreSQL", "LockstepReactorTesting", "LockstepRoutes",
        "LockstepSQLite", "LockstepSQLiteStore", "LockstepScreens", "LockstepServerTestSupport",
        "LockstepStateTestSupport", "LockstepStore", "LockstepSync", "LockstepTestSupport", "LockstepThreading",
        "LockstepTime",
      ]
    ),
    .testTarget(
      name: "LockstepServerTestingTests",
      dependencies: [
        "LockstepBuiltInScreens", "LockstepClient", "LockstepClientTesting", "LockstepCollections",
        "LockstepComposition", "LockstepJSON", "LockstepMail", "LockstepReactor", "LockstepReactorTesting",
        "LockstepServerTesting", "LockstepTime", "NewProject", "ShoppingList",
      ]
    ),
    .testTarget(
      name: "LockstepCommandTests",
      dependencies: [
        "LockstepAccounts", "LockstepCollections", "LockstepCommand", "LockstepComposition", "LockstepCryptography",
        "LockstepHTTP", "LockstepJSON", "LockstepMaintenance", "LockstepStore", "LockstepTemplates",
        "LockstepTestSupport", "LockstepTime",
      ]
    ),
    .testTarget(
      name: "LockstepAcceptanceTests",
      dependencies: [
        "ContinueWatching", "FavoritesTerminal", "LockstepClient", "LockstepExecutable", "LockstepHTTP", "LockstepJSON",
        "LockstepPostgreSQL", "LockstepReactor", "LockstepSQLite",
        "LockstepTestSupport", "LockstepThreading", "LockstepTime", "NewProject", "ShoppingList", "ShoppingScreens",
        "WatchingClient", "WatchingModule",
      ]
    ),

    // The tool of scripts/schema.
    .executableTarget(
      name: "schema-checker",
      dependencies: ["LockstepJSON", "LockstepSchema"],
      path: "Tests/SchemaChecker"
    ),

    // The tool of scripts/outgoing.
    .executableTarget(
      name: "outgoing-sender",
      dependencies: ["LockstepMail", "LockstepTime", "LockstepWebhooks"],
      path: "Tests/OutgoingSender"
    ),

    // Examples that use the public API only. Each is also a package of its own.
    .target(name: "Counter", dependencies: ["LockstepReactor"], path: "Examples/Counter/Sources/Counter"),
    .testTarget(
      name: "CounterTests",
      dependencies: ["Counter", "LockstepReactor", "LockstepReactorTesting"],
      path: "Examples/Counter/Tests/CounterTests"
    ),
    .target(name: "Login", dependencies: ["LockstepReactor"], path: "Examples/Login/Sources/Login"),
    .testTarget(
      name: "LoginTests",
      dependencies: ["LockstepReactor", "LockstepReactorTesting", "Login"],
      path: "Examples/Login/Tests/LoginTests"
    ),
    .target(
      name: "WatchingModule",
      dependencies: ["LockstepCollections", "LockstepTime"],
      path: "Examples/ContinueWatching/Sources/WatchingModule"
    ),
    .target(
      name: "WatchingClient",
      dependencies: ["LockstepClient", "LockstepJSON", "LockstepReactor", "LockstepTime", "WatchingModule"],
      path: "Examples/ContinueWatching/Sources/WatchingClient"
    ),
    .executableTarget(
      name: "ContinueWatching",
      dependencies: ["Lockstep", "WatchingModule"],
      path: "Examples/ContinueWatching/Sources/ContinueWatching"
    ),
    .testTarget(
      name: "ContinueWatchingTests",
      dependencies: [
        "LockstepClient", "LockstepClientTesting", "LockstepCollections", "LockstepJSON", "LockstepReactor",
        "LockstepReactorTesting", "LockstepTime", "WatchingClient", "WatchingModule",
      ],
      path: "Examples/ContinueWatching/Tests/ContinueWatchingTests"
    ),
    .target(
      name: "FavoritesModel",
      dependencies: ["LockstepClient", "LockstepClientUI", "LockstepReactor"],
      path: "Examples/FavoritesApp/Sources/FavoritesModel"
    ),
    .target(
      name: "FavoritesViews",
      dependencies: ["FavoritesModel", "LockstepClient", "LockstepClientUI", "LockstepReactor"],
      path: "Examples/FavoritesApp/Sources/FavoritesViews"
    ),
    .executableTarget(
      name: "FavoritesApp",
      dependencies: ["FavoritesViews"],
      path: "Examples/FavoritesApp/Sources/FavoritesApp"
    ),
    .executableTarget(
      name: "FavoritesTerminal",
      dependencies: ["FavoritesModel", "LockstepClient", "LockstepReactor"],
      path: "Examples/FavoritesApp/Sources/FavoritesTerminal"
    ),
    .testTarget(
      name: "FavoritesAppTests",
      dependencies: [
        "FavoritesModel", "FavoritesTerminal", "LockstepClient", "LockstepClientTesting", "LockstepJSON",
        "LockstepReactor",
      ],
      path: "Examples/FavoritesApp/Tests/FavoritesAppTests"
    ),
    .executableTarget(
      name: "ShoppingList",
      dependencies: ["Lockstep"],
      path: "Examples/ShoppingList/Sources/ShoppingList"
    ),
    .testTarget(
      name: "ShoppingListTests",
      dependencies: ["Lockstep", "LockstepReactorTesting", "ShoppingList"],
      path: "Examples/ShoppingList/Tests/ShoppingListTests"
    ),
    .executableTarget(
      name: "ShoppingScreens",
      dependencies: ["Lockstep"],
      path: "Examples/ShoppingScreens/Sources/ShoppingScreens"
    ),
    .testTarget(
      name: "ShoppingScreensTests",
      dependencies: ["Lockstep", "LockstepReactorTesting", "ShoppingScreens"],
      path: "Examples/ShoppingScreens/Tests/ShoppingScreensTests"
    ),

    // The server that `lockstep new` writes, for tests.
    .executableTarget(
      name: "NewProject",
      dependencies: ["Lockstep"],
      path: "templates/project/Sources/Server"
    ),

    // Benchmarks, run by scripts/bench.
    .executableTarget(
      name: "identity-benchmark",
      dependencies: ["LockstepHTTPClient", "LockstepIdentity", "LockstepThreading", "LockstepTime"],
      path: "Benchmarks/Identity"
    ),
    .executableTarget(name: "json-benchmark", dependencies: ["LockstepJSON"], path: "Benchmarks/JSON"),
    .executableTarget(
      name: "outbox-benchmark",
      dependencies: ["LockstepClient"],
      path: "Benchmarks/Outbox"
    ),
    .executableTarget(name: "reactor-benchmark", dependencies: ["LockstepReactor"], path: "Benchmarks/Reactor"),
    .executableTarget(
      name: "webhooks-benchmark",
      dependencies: [
        "LockstepCollections", "LockstepHTTP", "LockstepHTTPServer", "LockstepLogging", "LockstepStore",
        "LockstepThreading", "LockstepTime", "LockstepWebhooks",
      ],
      path: "Benchmarks/Webhooks"
    ),
    .executableTarget(
      name: "schema-benchmark",
      dependencies: ["LockstepJSON", "LockstepSchema"],
      path: "Benchmarks/Schema"
    ),
    .executableTarget(
      name: "writes-benchmark",
      dependencies: ["LockstepSQLite", "LockstepSQLiteStore", "LockstepThreading"],
      path: "Benchmarks/Writes"
    ),
  ],
  swiftLanguageModes: [.v6]
)

// An async function of the server runs where its caller runs, unless it says otherwise (SE-0461).
// Without this, every call and every return of such a function asks the runtime for the task's
// preferred executor. That takes a third of a request's time outside the kernel. The targets in
// this set do not depend on the setting, because other packages use them with their own settings.
let openRooms: Set = [
  "LockstepReactor", "LockstepReactorTesting", "LockstepReactorTests", "LockstepReactorTestingTests",
  "ContinueWatching", "ContinueWatchingTests", "Counter", "CounterTests", "FavoritesApp", "FavoritesAppTests",
  "FavoritesModel", "FavoritesTerminal", "FavoritesViews", "Login", "LoginTests", "NewProject", "ShoppingList",
  "ShoppingListTests", "ShoppingScreens", "ShoppingScreensTests", "WatchingClient", "WatchingModule",
  "reactor-benchmark",
]
for target in package.targets where target.type != .system && !openRooms.contains(target.name) {
  target.swiftSettings = (target.swiftSettings ?? []) + [.enableUpcomingFeature("NonisolatedNonsendingByDefault")]
}
