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
      targets: [
        "LockstepJSON", "Lockstep", "LockstepCommand", "LockstepMigrations", "LockstepReactor", "LockstepSQLite",
      ]
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
      resources: [
        .embedInCode("sqlite/0001_store.sql"), .embedInCode("sqlite/0002_accounts.sql"),
        .embedInCode("sqlite/0003_state.sql"),
        .embedInCode("sqlite/0004_eras.sql"), .embedInCode("sqlite/0005_history_size.sql"),
        .embedInCode("sqlite/0006_modules.sql"),
        .embedInCode("sqlite/0007_orders.sql"), .embedInCode("sqlite/0008_cleared_gaps.sql"),
        .embedInCode("sqlite/0009_session_keys.sql"), .embedInCode("sqlite/0010_administration.sql"),
        .embedInCode("sqlite/0011_declared_collections.sql"),
        .embedInCode("sqlite/0012_collection_commands.sql"),
        .embedInCode("sqlite/0013_credentials.sql"), .embedInCode("sqlite/0014_webhooks.sql"),
        .embedInCode("sqlite/0015_mail_links.sql"),
        .embedInCode("sqlite/0016_shortest_password.sql"),
        .embedInCode("postgresql/0001_identity.sql"), .embedInCode("postgresql/0002_users.sql"),
        .embedInCode("postgresql/0003_collections.sql"), .embedInCode("postgresql/0004_nodes.sql"),
        .embedInCode("postgresql/0005_feed.sql"), .embedInCode("postgresql/0006_attempts.sql"),
        .embedInCode("postgresql/0007_timelines.sql"), .embedInCode("postgresql/0008_declared_collections.sql"),
        .embedInCode("postgresql/0009_credentials.sql"), .embedInCode("postgresql/0010_webhooks.sql"),
        .embedInCode("postgresql/0011_mail_links.sql"),
        .embedInCode("postgresql/0012_password_length.sql"),
      ]
    ),
    .target(
      name: "LockstepWebFiles",
      path: "web",
      exclude: ["README.md", "account-tests", "browser", "inspector-tests", "tests"],
      resources: [
        .embedInCode("lockstep.js"), .embedInCode("lockstep.d.ts"), .embedInCode("account/account.html"),
        .embedInCode("account/account.css"), .embedInCode("account/account.js"),
        .embedInCode("account/account-texts.js"), .embedInCode("inspector/index.html"),
        .embedInCode("inspector/inspector.css"), .embedInCode("inspector/inspector.js"),
        .embedInCode("inspector/server.js"), .embedInCode("inspector/elements.js"), .embedInCode("inspector/json.js"),
        .embedInCode("inspector/journal.js"),
        .embedInCode("inspector/live.js"), .embedInCode("inspector/users.js"), .embedInCode("inspector/user.js"),
        .embedInCode("inspector/time.js"), .embedInCode("inspector/act.js"), .embedInCode("inspector/screens.js"),
        .embedInCode("inspector/settings.js"), .embedInCode("inspector/health.js"),
      ]
    ),
    .target(
      name: "LockstepTemplates",
      path: "templates",
      sources: ["Templates.swift"],
      resources: [
        .embedInCode("JSONValue.swift"), .embedInCode("MemberChange.swift"), .embedInCode("ServerTime.swift"),
        .embedInCode("project/Dockerfile"), .embedInCode("project/Package.swift"),
        .embedInCode("project/README.md"), .embedInCode("project/Sources/Server/NewNote.swift"),
        .embedInCode("project/Sources/Server/Notes.swift"),
        .embedInCode("project/Sources/Server/main.swift"),
        .embedInCode("project/Tests/ServerTests/NewNoteTests.swift"),
        .embedInCode("project/Tests/ServerTests/NotesTests.swift"), .embedInCode("project/dockerignore"),
        .embedInCode("project/gitignore"), .embedInCode("project/state-server.service"),
      ]
    ),
    .target(name: "LockstepTime", dependencies: ["LockstepThreading"]),
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
      resources: [
        .embedInCode("Texts/password-reset.en.txt"), .embedInCode("Texts/password-reset.ja.txt"),
        .embedInCode("Texts/password-reset.de.txt"), .embedInCode("Texts/password-reset.fr.txt"),
        .embedInCode("Texts/password-reset.es.txt"),
        .embedInCode("Texts/email-proof.en.txt"), .embedInCode("Texts/email-proof.ja.txt"),
        .embedInCode("Texts/email-proof.de.txt"), .embedInCode("Texts/email-proof.fr.txt"),
        .embedInCode("Texts/email-proof.es.txt"),
        .embedInCode("Texts/email-changed.en.txt"), .embedInCode("Texts/email-changed.ja.txt"),
        .embedInCode("Texts/email-changed.de.txt"), .embedInCode("Texts/email-changed.fr.txt"),
        .embedInCode("Texts/email-changed.es.txt"),
      ]
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
      name: "LockstepWebhooks",
      dependencies: [
        "CLockstepSodium", "LockstepCollections", "LockstepHTTPClient", "LockstepJSON", "LockstepLogging",
        "LockstepStore", "LockstepThreading", "LockstepTime",
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
      name: "LockstepModules",
      dependencies: [
        "LockstepCollections", "LockstepJSON", "LockstepReactor", "LockstepSchema", "LockstepTime",
      ]
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
        "LockstepAccounts", "LockstepCollections", "LockstepHTTP", "LockstepHTTPClient", "LockstepJSON",
        "LockstepLogging", "LockstepModules", "LockstepReactor", "LockstepStore", "LockstepSync", "LockstepThreading",
        "LockstepTime",
      ]
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
        "LockstepOpenAPI", "LockstepReactor", "LockstepSQLiteStore", "LockstepScreens", "LockstepStore",
        "LockstepSync", "LockstepThreading", "LockstepTime", "LockstepWebFiles", "LockstepWebhooks",
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
        "CLockstepLinux", "LockstepAccounts", "LockstepAdministration", "LockstepCollections", "LockstepHTTP",
        "LockstepHTTPClient", "LockstepHTTPServer", "LockstepIdentity", "LockstepJSON", "LockstepLogging",
        "LockstepMail", "LockstepMaintenance", "LockstepMiddleware", "LockstepMigrations", "LockstepModules",
        "LockstepPostgreSQL", "LockstepReactor", "LockstepRoutes", "LockstepSQLite", "LockstepSQLiteStore",
        "LockstepScreens", "LockstepStore", "LockstepSync", "LockstepThreading", "LockstepTime", "LockstepWebhooks",
      ]
    ),
    .target(
      name: "LockstepCommand",
      dependencies: [
        "LockstepAccounts", "LockstepCollections", "LockstepComposition", "LockstepCryptography", "LockstepHTTP",
        "LockstepHTTPClient", "LockstepHTTPServer", "LockstepIdentity", "LockstepLogging", "LockstepMail",
        "LockstepMaintenance", "LockstepMiddleware", "LockstepScreens", "LockstepStore", "LockstepSync",
        "LockstepTemplates", "LockstepThreading", "LockstepTime",
      ]
    ),
    // Everything that a server of your own needs, as one module to import.
    .target(
      name: "Lockstep",
      dependencies: [
        "LockstepCollections", "LockstepCommand", "LockstepComposition", "LockstepJSON", "LockstepMigrations",
        "LockstepPostgreSQL", "LockstepReactor", "LockstepSQLite", "LockstepScreens", "LockstepStore", "LockstepTime",
      ]
    ),
    .executableTarget(name: "LockstepExecutable", dependencies: ["LockstepCommand"]),
    // The whole server for tests of apps, so it is for Linux too.
    .target(
      name: "LockstepServerTesting",
      dependencies: [
        "LockstepAccounts", "LockstepClient", "LockstepComposition", "LockstepHTTP", "LockstepJSON", "LockstepReactor",
        "LockstepReactorTesting", "LockstepScreens", "LockstepThreading", "LockstepTime",
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
      name: "LockstepWebhooksTests",
      dependencies: [
        "LockstepCollections", "LockstepHTTP", "LockstepJSON", "LockstepLogging", "LockstepPostgreSQL", "LockstepStore",
        "LockstepTestSupport", "LockstepThreading", "LockstepTime", "LockstepWebhooks",
      ]
    ),
    .testTarget(
      name: "LockstepTests",
      dependencies: [
        "CAllocationCounter", "CLockstepSQLite", "CLockstepZlib", "Lockstep", "LockstepAccounts",
        "LockstepAdministration", "LockstepClient", "LockstepCollections", "LockstepComposition", "LockstepHTTP",
        "LockstepHTTPClient", "LockstepHTTPServer", "LockstepIdentity", "LockstepJSON", "LockstepLogging",
        "LockstepMail", "LockstepMaintenance", "LockstepMiddleware", "LockstepMigrations", "LockstepModules",
        "LockstepOpenAPI", "LockstepPostgreSQL", "LockstepReactor", "LockstepReactorTesting", "LockstepRoutes",
        "LockstepSQLite", "LockstepSQLiteStore", "LockstepScreens", "LockstepStore", "LockstepSync",
        "LockstepTestSupport", "LockstepThreading", "LockstepTime", "LockstepWebFiles", "LockstepWebhooks",
      ]
    ),
    .testTarget(
      name: "LockstepServerTestingTests",
      dependencies: [
        "LockstepClient", "LockstepClientTesting", "LockstepCollections", "LockstepComposition", "LockstepJSON",
        "LockstepMail", "LockstepReactor", "LockstepReactorTesting", "LockstepScreens",
        "LockstepServerTesting", "LockstepTime", "NewProject", "ShoppingList",
      ]
    ),
    .testTarget(
      name: "LockstepCommandTests",
      dependencies: [
        "LockstepAccounts", "LockstepCollections", "LockstepCommand", "LockstepComposition", "LockstepCryptography",
        "LockstepHTTP",
        "LockstepJSON", "LockstepMaintenance", "LockstepStore", "LockstepTestSupport", "LockstepTime",
      ]
    ),
    .testTarget(
      name: "LockstepAcceptanceTests",
      dependencies: [
        "ContinueWatching", "FavoritesTerminal", "LockstepClient", "LockstepExecutable", "LockstepHTTP", "LockstepJSON",
        "LockstepPostgreSQL", "LockstepReactor", "LockstepSQLite", "LockstepTestSupport", "LockstepThreading",
        "LockstepTime", "NewProject", "ShoppingList", "ShoppingScreens", "WatchingClient", "WatchingModule",
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
      dependencies: ["LockstepCollections", "LockstepJSON", "LockstepTime"],
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
      dependencies: ["FavoritesModel", "LockstepClient", "LockstepClientUI"],
      path: "Examples/FavoritesApp/Sources/FavoritesViews"
    ),
    .executableTarget(
      name: "FavoritesApp",
      dependencies: ["FavoritesViews"],
      path: "Examples/FavoritesApp/Sources/FavoritesApp"
    ),
    .executableTarget(
      name: "FavoritesTerminal",
      dependencies: ["FavoritesModel", "LockstepClient"],
      path: "Examples/FavoritesApp/Sources/FavoritesTerminal"
    ),
    .testTarget(
      name: "FavoritesAppTests",
      dependencies: ["FavoritesModel", "FavoritesTerminal", "LockstepClient", "LockstepClientTesting", "LockstepJSON"],
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
