import Glibc
import LockstepSQLite
import LockstepSQLiteStore

/// Makes the same writes as `Benchmarks/CLoop`, but as a server does: many tasks write at the same
/// time, and each one waits until its write is on disk.
///
/// Prints the writes a second, and the 50th and 99th percentile of a write's time in microseconds.
func runBenchmark() async {
  let arguments = CommandLine.arguments
  guard arguments.count == 4, let seconds = Int64(arguments[2]), let tasks = Int(arguments[3]) else {
    print("usage: writes-benchmark FILE SECONDS TASKS\n\nscripts/bench writes-store compares it with a loop in C.")
    exit(64)
  }
  do {
    let writer = try openWriter(arguments[1])
    let executor = try OneThread()
    let start = monotonic()
    let end = start + seconds * 1_000_000_000
    let times = try await withThrowingTaskGroup(of: [Int64].self) { group in
      for task in 0..<tasks {
        group.addTask(executorPreference: executor) { try await writeUntil(end, as: task, through: writer) }
      }
      return try await group.reduce(into: [Int64]()) { $0 += $1 }.sorted()
    }
    let elapsed = monotonic() - start
    writer.shutDown()
    let rate = Int(Double(times.count) / (Double(elapsed) / 1e9))
    print(rate, times[times.count / 2] / 1_000, times[times.count * 99 / 100] / 1_000)
  } catch {
    print(error)
    exit(70)
  }
}

func openWriter(_ path: String) throws -> DatabaseWriter {
  let connection = try SQLiteConnection(storeAt: path)
  try connection.execute(
    """
    CREATE TABLE defaults (user TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, revision INTEGER NOT NULL,
      PRIMARY KEY (user, key)) STRICT, WITHOUT ROWID;
    CREATE TABLE journal (user TEXT NOT NULL, revision INTEGER NOT NULL, at INTEGER NOT NULL, mutation TEXT NOT NULL,
      PRIMARY KEY (user, revision)) STRICT, WITHOUT ROWID;
    """
  )
  return try DatabaseWriter(connection: connection, monotonic: monotonic)
}

/// Writes in sequence. Returns the time of each write.
func writeUntil(_ end: Int64, as task: Int, through writer: DatabaseWriter) async throws -> [Int64] {
  // Each task uses 16 users of its own in turn.
  let users = (0..<16).map { number in
    let digits = String(task * 16 + number)
    return "018f2f6e-7c00-7000-8000-" + String(repeating: "0", count: 12 - digits.count) + digits
  }
  var times: [Int64] = []
  var before = monotonic()
  while before < end {
    let revision = times.count + 1
    let user = users[revision % 16]
    let value = "{\"theme\":\"dark\",\"size\":\(revision)}"
    let mutation = "{\"type\":\"set\",\"key\":\"appearance\",\"value\":\(value)}"
    try await writer.write { connection in
      try connection.run(
        """
        INSERT INTO defaults VALUES (?, ?, ?, ?)
        ON CONFLICT (user, key) DO UPDATE SET value = excluded.value, revision = excluded.revision
        """,
        user,
        "appearance",
        value,
        revision
      )
      try connection.run(
        "INSERT INTO journal VALUES (?, ?, ?, ?)",
        user,
        revision,
        1_700_000_000_000 + revision,
        mutation
      )
    }
    let after = monotonic()
    times.append(after - before)
    before = after
  }
  return times
}

@Sendable func monotonic() -> Int64 {
  var time = timespec()
  clock_gettime(CLOCK_MONOTONIC, &time)
  return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}
