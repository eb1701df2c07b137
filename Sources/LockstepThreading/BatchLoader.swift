/// Loads values in batches from a store that other threads read, once for all callers that need the same value.
///
/// Keys that are asked for while a batch is read go into a later batch. The networks of the callers take turns in
/// each batch, so the keys of one network, however many, do not hold up those of another.
///
/// - `invalidate(_:)` marks the value of a key as outdated. If the value is being read, it is not kept, and is
///   read again.
/// - If the read of a batch fails, each of its other keys is read alone. So a key that cannot be read fails
///   alone. But if the store itself cannot be read (`failsAll`), all keys of the batch fail.
/// - A key that was asked for is loaded, even if the caller is gone.
package final class BatchLoader<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  package typealias Completion = @Sendable (Result<Value, any Error>) -> Void

  private struct Flight: Sendable {
    var completions: [Completion]
    /// Those of callers that may not get the value that is being read.
    var later: [Completion] = []
    var isReading = false
    var isOutdated = false
  }

  private struct Contents: Sendable {
    var flights: [Key: Flight] = [:]
    var waiting = TurnQueue<Int?, Key>()
    /// The keys that are read again, each alone.
    var repeated: [Key] = []
    /// Whether the last batch was one of them. They take turns with the keys that wait: a key whose value changes all
    /// the time would otherwise be read again and again, ahead of all others.
    var wasRepeated = false
    var batches = 0

    var isEmpty: Bool { repeated.isEmpty && waiting.isEmpty }

    mutating func next(isRepeated: Bool) -> Key? {
      guard isRepeated else { return waiting.next() }
      return repeated.isEmpty ? nil : repeated.removeFirst()
    }
  }

  private let options: BatchLoaderOptions
  private let known: @Sendable (Key) -> Value?
  private let keep: @Sendable (Key, Value) -> Value
  private let isLarge: @Sendable (Value) -> Bool
  private let submit: @Sendable (Batch) throws -> Void
  private let contents = LockedState(Contents())

  /// `known` finds a value in memory. `keep` stores a value that is not outdated, and returns what all callers
  /// get. Both run under a lock that `invalidate(_:)` takes too, so they must be short. Reading the next value
  /// after one that `isLarge` takes long, so the callers get theirs before.
  ///
  /// `submit` queues the read of a batch on a thread that calls `Batch.read` and `Batch.end`.
  package init(
    _ options: BatchLoaderOptions,
    known: @escaping @Sendable (Key) -> Value? = { _ in nil },
    keep: @escaping @Sendable (Key, Value) -> Value = { $1 },
    isLarge: @escaping @Sendable (Value) -> Bool = { _ in false },
    submit: @escaping @Sendable (Batch) throws -> Void
  ) {
    (self.options, self.known, self.keep, self.isLarge, self.submit) = (options, known, keep, isLarge, submit)
  }

  /// Loads the value of a key. `network` is that of the client, if there is one. Calls `completion` once, usually
  /// on the thread that reads the value, with an error if too many keys of the network wait.
  package func load(_ key: Key, from network: Int? = nil, _ completion: @escaping Completion) {
    let (isAdded, begins) = contents.withLock { contents -> (Bool, Bool) in
      if let index = contents.flights.index(forKey: key) {
        if options.joinsReads || !contents.flights.values[index].isReading {
          contents.flights.values[index].completions.append(completion)
        } else {
          contents.flights.values[index].later.append(completion)
        }
        return (true, false)
      }
      guard contents.waiting.count(of: network) < options.waiting else { return (false, false) }
      contents.flights[key] = Flight(completions: [completion])
      contents.waiting.append(key, of: network)
      return (true, beginsBatch(&contents))
    }
    if !isAdded { completion(.failure(PoolOverloadedError(pool: options.name, capacity: options.waiting))) }
    if begins { submitBatches() }
  }

  /// Loads the value of a key. Cancelling the task does not end the wait.
  nonisolated(nonsending) package func value(of key: Key, from network: Int? = nil) async throws -> Value {
    try await withCompletion { load(key, from: network, $0) }
  }

  /// Call this after the source has changed and before the change is in memory.
  package func invalidate(_ key: Key) {
    // Usually nothing is loaded. `isEmpty` saves a slow look-up, because this code is not specialized for the key.
    contents.withLock { if !$0.flights.isEmpty { $0.flights[key]?.isOutdated = true } }
  }

  package func invalidateAll() {
    contents.withLock { contents in
      for index in contents.flights.values.indices { contents.flights.values[index].isOutdated = true }
    }
  }

  /// Whether one more batch may begin. Counts it.
  private func beginsBatch(_ contents: inout Contents) -> Bool {
    guard contents.batches < options.atOnce else { return false }
    contents.batches += 1
    return true
  }

  /// Submits the next batch. If that fails, its keys and all that wait fail.
  private func submitBatches() {
    repeat {
      let batch = Batch(of: self)
      do { return try submit(batch) } catch { batch.fail(error) }
    } while continues()
  }

  /// The keys of the next batch, and the values that are in memory by now.
  private func takeKeys() -> ([Key], [Finished]) {
    contents.withLock { contents in
      var (keys, finished): ([Key], [Finished]) = ([], [])
      let isRepeated = !contents.repeated.isEmpty && (contents.waiting.isEmpty || !contents.wasRepeated)
      contents.wasRepeated = isRepeated
      while keys.count < (isRepeated ? 1 : options.size), let key = contents.next(isRepeated: isRepeated) {
        if let value = known(key) {
          finished.append(finish(key, .success(value), &contents))
        } else {
          contents.flights[key]?.isReading = true
          contents.flights[key]?.isOutdated = false
          keys.append(key)
        }
      }
      return (keys, finished)
    }
  }

  /// Keeps a value that was read. Nil: it is outdated, and is read again.
  private func finish(_ key: Key, _ result: Result<Value, any Error>) -> Finished? {
    contents.withLock { contents in
      guard contents.flights[key]?.isOutdated == false else {
        readAgain(key, &contents)
        return nil
      }
      return finish(key, result.map { keep(key, $0) }, &contents)
    }
  }

  private func finish(_ key: Key, _ result: Result<Value, any Error>, _ contents: inout Contents) -> Finished {
    let flight = contents.flights.removeValue(forKey: key)
    if let flight, !flight.later.isEmpty {
      contents.flights[key] = Flight(completions: flight.later)
      contents.waiting.append(key, of: nil)
    }
    return Finished(result: result, completions: flight?.completions ?? [])
  }

  private func readAgain(_ key: Key, _ contents: inout Contents) {
    contents.flights[key]?.isReading = false
    contents.repeated.append(key)
  }

  private func readAgain(_ keys: ArraySlice<Key>) {
    contents.withLock { contents in for key in keys { readAgain(key, &contents) } }
  }

  /// Whether keys wait after the end of a batch, so that another one must be submitted.
  private func continues() -> Bool {
    contents.withLock { contents in
      if contents.isEmpty { contents.batches -= 1 }
      return !contents.isEmpty
    }
  }

  fileprivate struct Finished: Sendable {
    let result: Result<Value, any Error>
    let completions: [Completion]

    func complete() { for completion in completions { completion(result) } }
  }

  /// Keys that are read together. One thread at a time uses a batch.
  package final class Batch: Sendable {
    private struct Contents: Sendable {
      /// The keys without a value. Nil before the read begins.
      var keys: ArraySlice<Key>?
      var finished: [Finished] = []
    }

    private let loader: BatchLoader
    private let contents = LockedState(Contents())

    fileprivate init(of loader: BatchLoader) {
      self.loader = loader
    }

    /// The keys whose values must be read, in order. They do not change after the first call. Call this before
    /// the first statement of the snapshot that the values are read from.
    package var keys: ArraySlice<Key> {
      if let keys = contents.withLock({ $0.keys }) { return keys }
      let (keys, finished) = loader.takeKeys()
      contents.withLock { $0 = Contents(keys: keys[...], finished: finished) }
      return keys[...]
    }

    /// Reads the values of the keys, one after the other. After an error, may be called again for the rest of the
    /// keys.
    package func read(_ value: (Key) throws -> Value) rethrows {
      for key in keys {
        let value = try value(key)
        let finished = loader.finish(key, .success(value))
        contents.withLock { contents in
          _ = contents.keys?.popFirst()
          if let finished { contents.finished.append(finished) }
        }
        // Usually all callers are woken at the end, so that a thread that many of them share is woken once.
        if loader.isLarge(value) { complete() }
      }
    }

    /// Ends the batch. Call it once. After an error, the key without a value fails, or if there are several, each of
    /// them is read again, unless the error concerns all of them.
    package func end(_ result: Result<Void, any Error>) {
      switch result {
      case .failure(let error) where keys.count == 1 || loader.options.failsAll(error): fail(error)
      case .failure: loader.readAgain(keys)
      case .success: break
      }
      complete()
      if loader.continues() { loader.submitBatches() }
    }

    /// Fails all keys of a batch that cannot be read.
    fileprivate func fail(_ error: any Error) {
      for key in keys {
        guard let finished = loader.finish(key, .failure(error)) else { continue }
        contents.withLock { $0.finished.append(finished) }
      }
      complete()
    }

    private func complete() {
      let finished = contents.withLock { contents in
        defer { contents.finished = [] }
        return contents.finished
      }
      for finished in finished { finished.complete() }
    }
  }
}

package struct BatchLoaderOptions: Sendable {
  /// `PoolOverloadedError` has this name.
  let name: String
  /// The most keys of a batch.
  let size: Int
  /// How many batches are queued or read at a time. Each begins the next one when it ends, so that other
  /// reads get their turn.
  let atOnce: Int
  /// How many keys of a network may wait.
  let waiting: Int
  /// Whether a caller may get a value whose read began before the call.
  let joinsReads: Bool
  /// Whether an error concerns all keys of a batch, such as a lost connection.
  let failsAll: @Sendable (any Error) -> Bool

  package init(
    _ name: String,
    size: Int,
    atOnce: Int = 1,
    waiting: Int = 4_096,
    joinsReads: Bool = true,
    failsAll: @escaping @Sendable (any Error) -> Bool = { _ in false }
  ) {
    (self.name, self.size, self.atOnce, self.waiting) = (name, size, max(1, atOnce), waiting)
    (self.joinsReads, self.failsAll) = (joinsReads, failsAll)
  }
}
