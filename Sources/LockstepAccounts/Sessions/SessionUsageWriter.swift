import LockstepCollections
import LockstepSQLite
import LockstepStore
import LockstepThreading

/// Writes notes about sessions to the store, many at a time, with nobody waiting for it.
///
/// One unit is with the writer at a time; what is noted meanwhile goes into the next one. So a busy server writes large
/// batches in transactions that it commits anyway, and an idle one writes at once. A note that can't be written is
/// dropped: the session's next use makes another.
final class SessionUsageWriter: Sendable {
  /// How many are written in one unit, so that other writes never wait long for it.
  private static let batch = 1_000

  private struct State: Sendable {
    /// The latest of each session.
    var notes: [SessionID: SessionUsage] = [:]
    var isWriting = false
  }

  private let writer: DatabaseWriter
  private let state = LockedState(State())

  init(writer: DatabaseWriter) {
    self.writer = writer
  }

  /// Has the notes written, soon.
  func add(_ notes: [SessionUsage]) {
    if notes.isEmpty { return }
    let isFirst = state.withLock { state in
      for note in notes { state.notes[note.id] = note }
      defer { state.isWriting = true }
      return !state.isWriting
    }
    if isFirst { writeNext() }
  }

  /// Returns when all notes that were added before are on disk, these included.
  func write(_ notes: [SessionUsage]) async throws {
    let all = state.withLock { state in
      for note in notes { state.notes[note.id] = note }
      return Self.take(&state, limit: .max)
    }
    // Those of a unit that is with the writer now are written before this one.
    try await writer.write { connection in try Self.write(all, to: connection) }
  }

  private func writeNext() {
    do {
      try writer.submit { connection in
        try Self.write(self.state.withLock { Self.take(&$0, limit: Self.batch) }, to: connection)
      } settled: { _ in
        self.settled()
      }
    } catch {
      // The writer has too much to do, or is closed. The notes stay, and the next one tries again.
      state.withLock { $0.isWriting = false }
    }
  }

  private func settled() {
    let hasMore = state.withLock { state in
      state.isWriting = !state.notes.isEmpty
      return state.isWriting
    }
    if hasMore { writeNext() }
  }

  private static func take(_ state: inout State, limit: Int) -> [SessionUsage] {
    let taken = Array(state.notes.values.prefix(limit))
    if taken.count == state.notes.count {
      state.notes = [:]
    } else {
      for note in taken { state.notes[note.id] = nil }
    }
    return taken
  }

  private static func write(_ notes: [SessionUsage], to connection: SQLiteConnection) throws {
    let records = SessionRecords(connection: connection)
    for note in notes { try records.note(note) }
  }
}
