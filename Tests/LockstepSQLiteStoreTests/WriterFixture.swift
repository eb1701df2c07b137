import LockstepSQLite
import LockstepSQLiteStore
import LockstepTestSupport
import LockstepThreading

/// A writer and its database with one table.
final class WriterFixture: Sendable {
  /// The error of a unit that refuses.
  struct Refused: Error, Equatable {}

  let folder: TemporaryDirectory
  let path: String
  let writer: DatabaseWriter

  /// A writer without a busy timeout would sometimes fail, because SQLite's readers take the
  /// writer's lock briefly when they open a WAL that is being written.
  init(
    options: DatabaseWriter.Options = .init(),
    busyTimeout: Duration = .seconds(600),
    monotonic: @escaping @Sendable () -> Int64 = { 0 }
  ) throws {
    folder = try TemporaryDirectory()
    path = folder.file("t.db")
    writer = try Self.writer(path: path, options: options, busyTimeout: busyTimeout, monotonic: monotonic)
  }

  deinit {
    writer.shutDown()
  }

  static func writer(
    path: String,
    options: DatabaseWriter.Options = .init(),
    busyTimeout: Duration = .seconds(600),
    monotonic: @escaping @Sendable () -> Int64 = { 0 }
  ) throws -> DatabaseWriter {
    let connection = try SQLiteConnection(storeAt: path, busyTimeout: busyTimeout)
    try connection.execute("CREATE TABLE kept (number INTEGER PRIMARY KEY, filler BLOB) STRICT")
    return try DatabaseWriter(connection: connection, options: options, monotonic: monotonic)
  }

  /// Another connection, for checks.
  func connection() throws -> SQLiteConnection {
    try SQLiteConnection(storeAt: path, access: .readOnly)
  }

  /// The committed data.
  static func numbers(in path: String) throws -> [Int] {
    let connection = try SQLiteConnection(storeAt: path, access: .readOnly)
    return try connection.all("SELECT number FROM kept ORDER BY number") { row in try row[0] as Int }
  }

  /// The committed data.
  var numbers: [Int] { get throws { try Self.numbers(in: path) } }

  /// Submits a unit that blocks the writer until the gate opens, and returns when it blocks. Units
  /// that are submitted until then share its transaction.
  func hold(_ gate: Gate) async throws {
    try writer.submit({ _ in gate.pass() }, completion: { _ in })
    await gate.arrival()
  }

  /// Submits a unit that fails, and blocks the writer between transactions until the gate opens.
  /// Returns when it blocks. Units that are submitted until then form new groups.
  func holdBetweenGroups(_ gate: Gate) async throws {
    // The handler of a success runs on another thread if earlier handlers still run. That of a unit
    // that fails alone runs on the writer thread, after all earlier ones.
    try writer.submit({ (_: SQLiteConnection) -> Void in throw Refused() }, completion: { _ in gate.pass() })
    await gate.arrival()
  }

  /// Submits a unit, and records its outcome.
  func submit(_ outcomes: Log<String>, _ unit: @escaping @Sendable (SQLiteConnection) throws -> Void) throws {
    try writer.submit(unit, completion: { outcomes.add(Self.word(for: $0)) })
  }

  /// Describes the outcome of a unit in a word.
  static func word(for result: Result<Void, any Error>) -> String {
    switch result {
    case .success: "written"
    case .failure(is Refused): "refused"
    case .failure(let error as SQLiteError): "\(error.kind)"
    case .failure(let error): "\(error)"
    }
  }
}

extension SQLiteConnection {
  /// Writes a row.
  func keep(_ number: Int, filler: Int = 0) throws {
    try run("INSERT INTO kept VALUES (?, zeroblob(?))", number, filler)
  }
}

/// Blocks a thread until it opens.
final class Gate: Sendable {
  private struct State {
    var hasArrived = false
    var isOpen = false
    var waiting: CheckedContinuation<Void, Never>?
  }

  private let state = LockedState(State())

  /// Called by the thread, which waits.
  func pass() {
    let waiting = state.withLock { state in
      state.hasArrived = true
      return state.waiting.take()
    }
    waiting?.resume()
    state.wait { $0.isOpen ? () : nil }
  }

  /// Returns when the thread waits.
  func arrival() async {
    await withCheckedContinuation { continuation in
      let hasArrived = state.withLock { state in
        if !state.hasArrived { state.waiting = continuation }
        return state.hasArrived
      }
      if hasArrived { continuation.resume() }
    }
  }

  /// Lets the thread pass.
  func open() {
    state.withLock { $0.isOpen = true }
    state.wakeAll()
  }
}

/// Events, in order.
final class Log<Entry: Sendable>: Sendable {
  private let entries = LockedState<[Entry]>([])

  func add(_ entry: Entry) { entries.withLock { $0.append(entry) } }

  var all: [Entry] { entries.withLock { $0 } }
}
