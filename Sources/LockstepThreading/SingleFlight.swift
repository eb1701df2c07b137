/// Work that many want done at the same time, done once for all of them. What comes of it isn't kept: who comes later has it
/// done again.
public final class SingleFlight<Name: Hashable & Sendable, Value: Sendable>: Sendable {
  private enum Turn: Sendable {
    /// Nobody is at it: the caller does it for all.
    case lead
    case share(Result<Value, any Error>?)
  }

  private let waiting = LockedState<[Name: [CheckedContinuation<Turn, Never>]]>([:])

  /// Nothing is at work yet.
  public init() {}

  /// What `work` comes to, done now by this caller, or by another one who is at the work of that name.
  ///
  /// - Parameters:
  ///   - name: Which work it is: all that is called the same at one time must come to the same.
  ///   - work: Does it.
  /// - Returns: what `work` returns, to all.
  /// - Throws: what `work` throws, to all; but where that is a `CancellationError` another one of them does it.
  nonisolated(nonsending) public func value(
    of name: Name,
    _ work: () async throws -> Value
  ) async throws -> Value {
    while true {
      switch await turn(name) {
      case .share(let result?): return try result.get()
      // Who was at it has gone.
      case .share(nil): continue
      case .lead: return try await lead(name, work)
      }
    }
  }

  /// How many wait for what others do.
  public var waitingCount: Int { waiting.withLock { $0.values.reduce(0) { $0 + $1.count } } }

  nonisolated(nonsending) private func lead(_ name: Name, _ work: () async throws -> Value) async throws -> Value {
    let result: Result<Value, any Error>
    do { result = .success(try await work()) } catch { result = .failure(error) }
    let others = waiting.withLock { $0.removeValue(forKey: name) ?? [] }
    let isCancelled = if case .failure(is CancellationError) = result { true } else { false }
    for other in others { other.resume(returning: .share(isCancelled ? nil : result)) }
    return try result.get()
  }

  nonisolated(nonsending) private func turn(_ name: Name) async -> Turn {
    await withCheckedContinuation { continuation in
      let isFirst = waiting.withLock { waiting in
        guard waiting[name] != nil else {
          waiting[name] = []
          return true
        }
        waiting[name]?.append(continuation)
        return false
      }
      if isFirst { continuation.resume(returning: .lead) }
    }
  }
}
