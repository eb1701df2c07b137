import LockstepAccounts
import LockstepCollections
import LockstepHTTP
import LockstepStore
import LockstepThreading

/// Loads sessions and states of users who are not in memory, in batches.
///
/// Requests that arrive while a batch is being loaded make the next one. A batch takes one reader
/// thread. It reads all sessions from one snapshot of the store, and then all states from another
/// one. Each state must be newer than the beginning of its load, because otherwise it could replace
/// a newer state that was published and evicted in between.
package final class UserLoader: Sendable {
  private struct Contents: Sendable {
    var waiting: [UserLoad] = []
    /// How many batches are queued or being loaded.
    var batches = 0
  }

  /// How many requests may wait for their batch.
  private static let capacity = 4_096
  private static let batchSize = 32
  /// After states of this many bytes, the connections that wait for them are woken, and not only at
  /// the end of the batch.
  private static let wakeSize = 256 * 1024

  private let contents = LockedState(Contents())
  private let directory: SessionDirectory
  private let cache: StateCache
  private let readers: StoreReaders
  private let batchLimit: Int

  /// At most half of the reader threads load batches, so that the others stay free for other reads.
  package init(directory: SessionDirectory, cache: StateCache, readers: UserReaders) {
    self.directory = directory
    self.cache = cache
    self.readers = readers.readers
    batchLimit = max(1, readers.threads / 2)
  }

  /// Adds a load to the next batch. Returns false if too many requests wait for batches. Then load
  /// the session by `SessionDirectory.load`, which counts requests with the same token only once.
  package func add(_ load: UserLoad) -> Bool {
    let (isAdded, begins) = contents.withLock { contents in
      guard contents.waiting.count < Self.capacity else { return (false, false) }
      contents.waiting.append(load)
      guard contents.batches < batchLimit else { return (true, false) }
      contents.batches += 1
      return (true, true)
    }
    if begins { submitBatch() }
    return isAdded
  }

  private func submitBatch() {
    do {
      // Each batch submits the next one when it ends, so that other reads get their turn.
      try readers.submitWithoutSnapshot({ try self.loadBatch(from: $0) }, completion: { self.endBatch($0) })
    } catch {
      endBatch(.failure(error))
    }
  }

  /// After an error, ends all loads without a session. Their requests load it themselves, and so
  /// they report the error.
  private func endBatch(_ result: Result<Void, any Error>) {
    let (isLast, failed) = contents.withLock { contents -> (Bool, [UserLoad]) in
      if case .success = result, !contents.waiting.isEmpty { return (false, []) }
      contents.batches -= 1
      defer { contents.waiting = [] }
      return (true, contents.waiting)
    }
    if isLast { Self.finish(failed) } else { submitBatch() }
  }

  private func loadBatch(from connection: StoreConnection) throws {
    let loads = contents.withLock { contents in
      let loads = Array(contents.waiting.prefix(Self.batchSize))
      contents.waiting.removeFirst(loads.count)
      return loads
    }
    var batch = Batch(loads, directory, cache)
    defer { Self.finish(loads[batch.finished...]) }
    try batch.loadSessions(from: connection)
    try batch.loadStates(from: connection, wakeSize: Self.wakeSize)
  }

  /// Ends loads without a session.
  private static func finish(_ loads: some Sequence<UserLoad>) {
    var wakes = WakeBatch()
    for load in loads { load.finish(nil, &wakes) }
    wakes.begin()
  }
}

private struct Batch {
  let loads: [UserLoad]
  let directory: SessionDirectory
  let cache: StateCache
  var sessions: [LiveSession?]
  /// How many of the first loads have ended.
  var finished = 0

  init(_ loads: [UserLoad], _ directory: SessionDirectory, _ cache: StateCache) {
    self.loads = loads
    self.directory = directory
    self.cache = cache
    sessions = Array(repeating: nil, count: loads.count)
  }

  mutating func loadSessions(from connection: StoreConnection) throws {
    let begun = loads.map { directory.beginLoading($0.token) }
    var next = 0
    // Ends the loads that were begun but not finished because of an error.
    defer {
      for index in next..<loads.count where begun[index] { directory.abandonLoading(loads[index].token) }
    }
    try connection.snapshot {
      while next < loads.count {
        let load = loads[next]
        if begun[next] {
          let stored = try directory.read(load.token, from: connection)
          sessions[next] = directory.finishLoading(load.token, stored, at: load.arrival)
        }
        next += 1
      }
    }
  }

  mutating func loadStates(from connection: StoreConnection, wakeSize: Int) throws {
    let begun = sessions.map { $0.map { cache.beginLoading($0.user) } ?? false }
    var next = 0
    defer {
      for index in next..<loads.count where begun[index] {
        if let user = sessions[index]?.user { cache.finishLoading(user, nil) }
      }
    }
    var (wakes, size) = (WakeBatch(), 0)
    defer { wakes.begin() }
    try connection.snapshot {
      while next < loads.count {
        if begun[next], let user = sessions[next]?.user {
          // If the state cannot be read, the request's own load reports why.
          let state = try? cache.read(user, from: connection)
          cache.finishLoading(user, state)
          size += state?.cost ?? 0
        }
        loads[next].finish(sessions[next], &wakes)
        next += 1
        finished = next
        if size >= wakeSize {
          wakes.begin()
          (wakes, size) = (WakeBatch(), 0)
        }
      }
    }
  }
}
