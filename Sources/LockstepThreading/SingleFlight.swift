/// Shares asynchronous work among all callers that need its result at the same time.
///
/// The first caller for a key runs the work, and callers that arrive meanwhile get its result too.
/// Later callers run the work again. A caller with a cache looks there first, and once more inside
/// the work, because an earlier flight may have filled the cache in between.
///
/// - A waiting caller stays until the flight ends, even if its task is cancelled.
/// - If the work throws `CancellationError`, only the caller that ran it fails. Another waiting
///   caller runs the work instead.
public final class SingleFlight<Key: Hashable & Sendable, Value: Sendable, Failure: Error>: Sendable {
  private typealias Outcome = Result<Value, Failure>

  private enum Turn: Sendable {
    /// The caller runs the work.
    case lead
    case share(Outcome)
    /// The caller that ran the work was cancelled.
    case retry
  }

  private let flights = LockedState<[Key: [CheckedContinuation<Turn, Never>]]>([:])

  /// A new one, without work.
  public init() {}

  /// The result of the work, which one of the callers for this key runs.
  nonisolated(nonsending) public func value(
    of key: Key,
    _ work: () async throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    while true {
      switch await turn(key) {
      case .share(let result): return try result.get()
      case .retry: continue
      case .lead: return try await lead(key, work)
      }
    }
  }

  /// The number of callers that wait for another caller's work.
  package var waitingCount: Int { flights.withLock { $0.values.reduce(0) { $0 + $1.count } } }

  /// Runs the work, and passes its result on.
  nonisolated(nonsending) private func lead(
    _ key: Key,
    _ work: () async throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    let result: Outcome
    do throws(Failure) { result = .success(try await work()) } catch { result = .failure(error) }
    let isCancelled = if case .failure(is CancellationError) = result { true } else { false }
    let waiting = flights.withLock { $0.removeValue(forKey: key) ?? [] }
    for other in waiting { other.resume(returning: isCancelled ? .retry : .share(result)) }
    return try result.get()
  }

  nonisolated(nonsending) private func turn(_ key: Key) async -> Turn {
    await withCheckedContinuation { continuation in
      let isFirst = flights.withLock { flights in
        flights[key]?.append(continuation)
        guard flights[key] == nil else { return false }
        flights[key] = []
        return true
      }
      if isFirst { continuation.resume(returning: .lead) }
    }
  }
}
