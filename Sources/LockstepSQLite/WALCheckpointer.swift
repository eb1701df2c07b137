/// Keeps the writer's log short: moves its contents into the database file whenever it has grown by so many pages.
///
/// SQLite's own way is to do that within a commit, whose callers wait for it. Here they have been told already; only who
/// comes meanwhile waits.
///
/// The log starts from its beginning again with the first transaction after all of it was moved, unless somebody reads
/// from it at that moment. Readers that overlap all the time could keep that from ever happening; so where the log has
/// grown to many times its size, the writer waits for them, a little while. Once all is in the file, new ones read that,
/// and don't prolong it.
///
/// Where somebody wants the log erased, all of it is moved and the file cut to nothing, as soon as readers allow.
struct WALCheckpointer {
  /// How many times the pages it should have the log may have before the writer waits for readers.
  static let tolerance = 8
  /// How often the writer looks at the readers anew while it waits for them.
  private static let attempts = 10

  private let connection: SQLiteConnection
  private let pages: Int
  private let patience: Duration
  /// How long the log must have grown before it's tried again to erase it: each attempt may wait for readers.
  private static let pagesBetweenErasures = 64
  /// How many pages the log had when it was last looked after.
  private var last = 0
  /// Whether readers have kept the log from being erased.
  private var hasTriedToErase = false

  /// Keeps the log of a connection, which has been prepared for it.
  init(_ connection: SQLiteConnection, options: DatabaseWriter.Options) {
    self.connection = connection
    pages = options.checkpointPages
    patience = options.checkpointPatience
  }

  /// Makes a connection ready to have its log kept.
  static func prepare(_ connection: SQLiteConnection, options: DatabaseWriter.Options) throws {
    // Twice: a file that needn't grow is synced faster, and readers often make the log a little longer than it should be.
    try connection.keepLogByHand(pages: 2 * options.checkpointPages)
  }

  /// Whether the log has grown enough, now that something has been committed.
  mutating func isDue() -> Bool {
    let now = connection.logPages
    // It has started anew.
    if now < last { last = 0 }
    if connection.isLogToBeErased, !hasTriedToErase || now - last >= Self.pagesBetweenErasures { return true }
    return now - last >= pages
  }

  /// Moves what can be moved. After an error the log goes on growing until it is due again.
  mutating func checkpoint() throws(SQLiteError) {
    last = connection.logPages
    if connection.isLogToBeErased {
      let isErased = try waitingForReaders(.truncate)
      connection.isLogToBeErased = !isErased
      hasTriedToErase = !isErased
    } else if last < pages * Self.tolerance {
      try connection.checkpoint(.passive)
    } else {
      _ = try waitingForReaders(.restart)
    }
  }

  /// Waits for readers, a part of the patience at a time: SQLite waits until nobody reads from a place in the log that it
  /// has looked at once, though new readers may have moved that place to the log's end meanwhile and share it from then
  /// on. Asked again, it looks again.
  ///
  /// - Returns: whether all was moved.
  private func waitingForReaders(_ mode: SQLiteConnection.Checkpoint) throws(SQLiteError) -> Bool {
    try connection.withBusyTimeout(patience / Self.attempts) { () throws(SQLiteError) in
      for _ in 0..<Self.attempts where try connection.checkpoint(mode) { return true }
      return false
    }
  }
}
