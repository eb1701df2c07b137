/// Shares asynchronous work among all callers that need its result at the same time.
///
/// The first caller for a key runs the work, and callers that arrive meanwhile get its result too.
/// Later callers run the work again. A caller with a cache looks there first, and once more inside
/// the work, because an earlier flight may have filled the cache in between.
///
/// - A waiting caller stays until the flight ends, even if its task is cancelled.
/// - If the work throws `CancellationError`, only the caller that ran it fails. Another waiting
///   caller runs the work instead.
/// - `invalidate(_:)` marks running work as outdated. When the work ends, its caller repeats it.
public final class SingleFlight<Key: Hashable & Sendable, Value: Sendable, Failure: Error>: Sendable {
  private typealias Outcome = Result<Value, Failure>

  private enum Turn: Sendable {
    /// The caller runs the work.
    case lead
    case share(Outcome)
    /// The caller that ran the work was cancelled.
    case retry
  }

  private struct Flight: Sendable {
    var waiting: [CheckedContinuation<Turn, Never>] = []
    var isOutdated = false
  }

  private let flights = LockedState<[Key: Flight]>([:])

  /// A new one, without work.
  public init() {}

  /// `keep` stores a result that is not outdated, and returns what all callers get. It runs under a
  /// lock that `invalidate(_:)` takes too, so it must be short.
  nonisolated(nonsending) public func value(
    of key: Key,
    keep: (Value) -> Value = { $0 },
    _ work: () async throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    while true {
      switch await turn(key) {
      case .share(let result): return try result.get()
      case .retry: continue
      case .lead: return try await lead(key, keep, work)
      }
    }
  }

  /// Call this after the source has changed and before the change is cached.
  package func invalidate(_ key: Key) {
    // Usually no work runs. `isEmpty` saves a slow look-up, because this code is not specialized
    // for the key.
    flights.withLock { if !$0.isEmpty { $0[key]?.isOutdated = true } }
  }

  /// Marks all running work as outdated.
  package func invalidateAll() {
    flights.withLock { flights in for key in flights.keys { flights[key]?.isOutdated = true } }
  }

  /// The number of callers that wait for another caller's work.
  package var waitingCount: Int { flights.withLock { $0.values.reduce(0) { $0 + $1.waiting.count } } }

  nonisolated(nonsending) private func lead(
    _ key: Key,
    _ keep: (Value) -> Value,
    _ work: () async throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    while true {
      let result: Outcome
      do throws(Failure) { result = .success(try await work()) } catch { result = .failure(error) }
      if let shared = finish(key, result, keep) { return try shared.get() }
    }
  }

  /// Ends the flight and passes its result on. Returns nil if the work must run again.
  private func finish(_ key: Key, _ result: Outcome, _ keep: (Value) -> Value) -> Outcome? {
    let isCancelled = if case .failure(is CancellationError) = result { true } else { false }
    let (waiting, shared) = flights.withLock { flights -> ([CheckedContinuation<Turn, Never>], Outcome?) in
      if flights[key]?.isOutdated == true, !isCancelled {
        flights[key]?.isOutdated = false
        return ([], nil)
      }
      return (flights.removeValue(forKey: key)?.waiting ?? [], result.map(keep))
    }
    guard let shared else { return nil }
    for other in waiting { other.resume(returning: isCancelled ? .retry : .share(shared)) }
    return shared
  }

  nonisolated(nonsending) private func turn(_ key: Key) async -> Turn {
    await withCheckedContinuation { continuation in
      let isFirst = flights.withLock { flights in
        flights[key]?.waiting.append(continuation)
        guard flights[key] == nil else { return false }
        flights[key] = Flight()
        return true
      }
      if isFirst { continuation.resume(returning: .lead) }
    }
  }
}
