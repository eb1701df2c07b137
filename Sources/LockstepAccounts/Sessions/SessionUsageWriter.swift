import LockstepCollections
import LockstepStore
import LockstepThreading

/// Writes the use of sessions to the store in batches, in the background.
///
/// The writer thread gets one batch at a time. Later uses go into the next batch. If a batch cannot
/// be written, it is dropped, because later uses of the same sessions replace it.
final class SessionUsageWriter: Sendable {
  /// The largest batch. Other writes wait for it.
  private static let batch = 1_000

  private struct State: Sendable {
    var pending: [SessionID: SessionUsage] = [:]
    var isWriting = false
  }

  private let writer: StoreWriter
  private let state = LockedState(State())

  init(writer: StoreWriter) {
    self.writer = writer
  }

  func add(_ usage: [SessionUsage]) {
    if usage.isEmpty { return }
    let isFirst = state.withLock { state in
      for use in usage { state.pending[use.id] = use }
      defer { state.isWriting = true }
      return !state.isWriting
    }
    if isFirst { writeNext() }
  }

  /// Returns when these and all earlier uses are on disk.
  func write(_ usage: [SessionUsage]) async throws {
    let all = state.withLock { state in
      for use in usage { state.pending[use.id] = use }
      return Self.take(&state, limit: .max)
    }
    // The writer thread finishes a running batch first.
    try await writer.write { connection in try Self.write(all, to: connection) }
  }

  private func writeNext() {
    // Taken once, because a unit is run again if its connection was lost.
    let batch = state.withLock { Self.take(&$0, limit: Self.batch) }
    do {
      try writer.submit { connection in
        try Self.write(batch, to: connection)
      } completion: { _ in
        let hasMore = self.state.withLock { state in
          state.isWriting = !state.pending.isEmpty
          return state.isWriting
        }
        if hasMore { self.writeNext() }
      }
    } catch {
      // The writer is overloaded or closed. The next use tries again.
      state.withLock { state in
        for use in batch where state.pending[use.id] == nil { state.pending[use.id] = use }
        state.isWriting = false
      }
    }
  }

  private static func take(_ state: inout State, limit: Int) -> [SessionUsage] {
    let taken = Array(state.pending.values.prefix(limit))
    if taken.count == state.pending.count {
      state.pending = [:]
    } else {
      for use in taken { state.pending[use.id] = nil }
    }
    return taken
  }

  private static func write(_ usage: [SessionUsage], to connection: StoreConnection) throws {
    try SessionRecords(connection: connection).update(usage)
  }
}
