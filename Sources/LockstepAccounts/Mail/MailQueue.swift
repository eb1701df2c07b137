import LockstepCollections
import LockstepThreading

/// Work for mails, which begins after a random delay, one piece at a time. Responses do not wait
/// for it, so their time says nothing about accounts.
package final class MailQueue: Sendable {
  package typealias Work = @Sendable () async throws -> Void

  /// How much work may wait. Each piece has an address and less than 16 KiB.
  package static let capacity = 256
  /// How much work of one network may wait, and how many places it may reserve. More work is dropped,
  /// like mails past the limit of a network.
  private static let capacityOfNetwork = 32

  private struct Item: Sendable {
    let start: ContinuousClock.Instant
    let network: ClientNetwork
    let work: Work
  }

  private struct Contents: Sendable {
    var waiting: [Item] = []
    /// The places of requests whose work comes later.
    var reserved: [ClientNetwork: Int] = [:]
    var isRunning = false
    var isStopped = false
    var noteFailure: @Sendable (any Error) -> Void = { _ in }

    mutating func release(_ network: ClientNetwork) {
      let rest = reserved[network, default: 1] - 1
      reserved[network] = rest == 0 ? nil : rest
    }
  }

  private let contents = LockedState(Contents())
  private let executor: (any TaskExecutor)?
  private let timeAtStop: Duration
  private let delay: @Sendable () -> Duration

  /// `timeAtStop` is how long `stop` waits for the work.
  init(executor: (any TaskExecutor)?, timeAtStop: Duration, delay: @escaping @Sendable () -> Duration) {
    (self.executor, self.timeAtStop, self.delay) = (executor, timeAtStop, delay)
  }

  /// Sets the function that gets the errors of the work, and `tooManyAttempts` for dropped work.
  package func onFailure(_ note: @escaping @Sendable (any Error) -> Void) {
    contents.withLock { $0.noteFailure = note }
  }

  /// Reserves a place for `add` or `abandon`. Throws `overloaded` if there is none, or if the network
  /// has too many.
  package func reserve(for network: ClientNetwork) throws(AccountsError) {
    try contents.withLock { contents throws(AccountsError) in
      let taken = contents.waiting.count + contents.reserved.values.reduce(0, +)
      guard !contents.isStopped, taken < Self.capacity,
        contents.reserved[network, default: 0] < Self.capacityOfNetwork
      else { throw .overloaded }
      contents.reserved[network, default: 0] += 1
    }
  }

  /// Gives a reserved place back.
  package func abandon(for network: ClientNetwork) {
    contents.withLock { $0.release(network) }
    contents.wakeAll()
  }

  /// Adds work at a reserved place. Drops it if too much work of its network waits.
  func add(from network: ClientNetwork, _ work: @escaping Work) {
    let item = Item(start: .now + delay(), network: network, work: work)
    let (isAdded, mustStart) = contents.withLock { contents in
      contents.release(network)
      guard contents.waiting.count(where: { $0.network == network }) < Self.capacityOfNetwork else {
        return (false, false)
      }
      contents.waiting.append(item)
      defer { contents.isRunning = true }
      return (true, !contents.isRunning)
    }
    // For `stop`, which also waits for reserved places.
    contents.wakeAll()
    if !isAdded { contents.withLock { $0.noteFailure }(AccountsError.tooManyAttempts(retryAfter: 3)) }
    guard mustStart else { return }
    // It outlives the request. `stop` waits for it.
    Task(executorPreference: executor) { await self.run() }
  }

  /// Whether no work waits or runs.
  package var isIdle: Bool { contents.withLock { $0.waiting.isEmpty && !$0.isRunning } }

  /// Accepts no more work, and waits a moment for the rest. Blocks.
  package func stop() {
    contents.withLock { $0.isStopped = true }
    _ = contents.wait(atMost: timeAtStop.wholeNanoseconds) { contents in
      contents.waiting.isEmpty && !contents.isRunning && contents.reserved.isEmpty ? () : nil
    }
  }

  private func run() async {
    while let work = await next() {
      do { try await work() } catch { contents.withLock { $0.noteFailure }(error) }
    }
    contents.wakeAll()
  }

  /// Waits until work may begin. Nil if there is none.
  private func next() async -> Work? {
    while true {
      let (work, pause) = take(at: .now)
      guard let pause else { return work }
      // Real time, because clients measure it. Each pause is at most 50 ms, so that `stop` does not
      // wait long.
      try? await Task.sleep(for: pause)
    }
  }

  /// Takes work that may begin, or says how long to wait for it.
  private func take(at now: ContinuousClock.Instant) -> (Work?, pause: Duration?) {
    contents.withLock { contents in
      let all = contents.waiting
      guard let first = all.indices.min(by: { all[$0].start < all[$1].start }) else {
        contents.isRunning = false
        return (nil, nil)
      }
      // A server that stops waits no longer. Work that is added later may begin before this.
      let rest = contents.isStopped ? .zero : all[first].start - now
      if rest > .zero { return (nil, min(rest, .milliseconds(50))) }
      return (contents.waiting.remove(at: first).work, nil)
    }
  }
}
