import LockstepThreading

/// Work for mails that waits for its turn, one piece at a time. Responses do not wait for it, so their time
/// says nothing about accounts.
package final class MailQueue: Sendable {
  package typealias Work = @Sendable () async throws -> Void

  /// How much work may wait. Each piece has an address and less than 16 KiB.
  package static let capacity = 256
  /// How long the work may take when the server stops, in nanoseconds.
  private static let stopPatience: Int64 = 5_000_000_000

  private struct Contents: Sendable {
    /// In reverse order.
    var waiting: [Work] = []
    /// The places of requests whose work comes later.
    var reserved = 0
    var isRunning = false
    var isStopped = false
    var noteFailure: @Sendable (any Error) -> Void = { _ in }
  }

  private let contents = LockedState(Contents())
  private let executor: (any TaskExecutor)?

  init(executor: (any TaskExecutor)?) { self.executor = executor }

  /// Sets the function that gets the errors of the work.
  package func onFailure(_ note: @escaping @Sendable (any Error) -> Void) {
    contents.withLock { $0.noteFailure = note }
  }

  /// Reserves a place for `add` or `abandon`. Throws `overloaded` if there is none.
  package func reserve() throws(AccountsError) {
    try contents.withLock { contents throws(AccountsError) in
      guard !contents.isStopped, contents.waiting.count + contents.reserved < Self.capacity else { throw .overloaded }
      contents.reserved += 1
    }
  }

  /// Gives a reserved place back.
  package func abandon() {
    contents.withLock { $0.reserved -= 1 }
    contents.wakeAll()
  }

  /// Adds work at a reserved place.
  func add(_ work: @escaping Work) {
    let mustStart = contents.withLock { contents in
      contents.reserved -= 1
      contents.waiting.insert(work, at: 0)
      defer { contents.isRunning = true }
      return !contents.isRunning
    }
    guard mustStart else { return }
    Task(executorPreference: executor) { await self.run() }
  }

  /// Whether no work waits or runs.
  package var isIdle: Bool { contents.withLock { $0.waiting.isEmpty && !$0.isRunning } }

  /// Accepts no more work, and waits a moment for the rest. Blocks.
  package func stop() {
    contents.withLock { $0.isStopped = true }
    _ = contents.wait(atMost: Self.stopPatience) { $0.waiting.isEmpty && !$0.isRunning && $0.reserved == 0 ? () : nil }
  }

  private func run() async {
    while let work = next() {
      do { try await work() } catch { contents.withLock { $0.noteFailure }(error) }
    }
    contents.wakeAll()
  }

  private func next() -> Work? {
    contents.withLock { contents in
      let work = contents.waiting.popLast()
      contents.isRunning = work != nil
      return work
    }
  }
}
