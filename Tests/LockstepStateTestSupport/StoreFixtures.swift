import LockstepSQLite
import LockstepTestSupport
import LockstepTime
import Synchronization

@testable import LockstepStore

/// A clock that only a test advances.
final class StoreClock: Sendable {
  private let now = Mutex(Duration.zero)

  func advance(by duration: Duration) { now.withLock { $0 += duration } }

  /// The store's time. It began at 1,000,000 milliseconds since 1970.
  var time: TimeSource {
    TimeSource(
      monotonic: { self.now.withLock { $0 }.wholeNanoseconds },
      millisecondsSince1970: { 1_000_000 + Int64(self.now.withLock { $0 } / .milliseconds(1)) }
    )
  }
}

/// The random numbers 1, 2, 3 and so on.
struct CountingNumbers: RandomNumberGenerator {
  private var last: UInt64 = 0

  mutating func next() -> UInt64 {
    last += 1
    return last
  }
}

/// A folder and a clock for a store.
final class StoreFixture: Sendable {
  let folder: TemporaryDirectory
  let clock = StoreClock()
  let path: String

  init() throws {
    folder = try TemporaryDirectory()
    path = folder.file("lockstep.db")
  }

  func store(_ path: String? = nil, migrator: Migrator = Migrator()) throws(StoreError) -> DurableStore {
    try DurableStore(
      path: path ?? self.path,
      time: clock.time,
      options: .init(busyTimeout: .zero),
      migrator: migrator
    )
  }

  deinit { TestedStore.drop(path) }

  /// A store in the database under test.
  func testedStore(
    options: DurableStore.Options = .init(busyTimeout: .zero),
    migrator: Migrator = Migrator()
  ) throws -> DurableStore {
    if let database = try TestedStore.database(for: path) {
      return try DurableStore(
        postgreSQL: database,
        time: clock.time,
        readingThreads: options.readingThreads,
        migrator: migrator
      )
    }
    return try DurableStore(path: path, time: clock.time, options: options, migrator: migrator)
  }

  /// Another program's connection to the file.
  func sqlite(_ path: String? = nil) throws -> SQLiteConnection {
    try SQLiteConnection(path: path ?? self.path, journal: .asFound, busyTimeout: .zero)
  }
}

/// The test looks into the file of a store, which a store in PostgreSQL does not have.
struct NoStoreFileError: Error {}

extension StoreConnection {
  var sqlite: SQLiteConnection {
    get throws {
      switch self {
      case .sqlite(let connection): connection
      case .postgreSQL: throw NoStoreFileError()
      }
    }
  }

  /// Runs the statements of a script.
  func execute(_ script: TestSQL) throws {
    switch self {
    case .sqlite(let connection): try connection.execute(script.sqlite)
    case .postgreSQL(let session): try session.execute(script.postgreSQL)
    }
  }
}
