/// Asks the user what to do about an error.
public protocol RetryPrompt: Sendable {
  /// Asks whether to try again.
  func confirmRetry(after error: any Error) async -> Bool

  /// Shows an error that a retry cannot fix.
  func inform(of error: any Error) async
}

/// Runs `work`. After each error, asks the user whether to run `work` again.
///
/// Returns `nil` if the user declines. If `canRetry` returns `false`, shows the error and returns
/// `nil`. If the task is cancelled, throws `CancellationError` without asking.
public func retryWhenConfirmed<Value>(
  _ prompt: some RetryPrompt,
  canRetry: (any Error) -> Bool = { _ in true },
  isolation: isolated (any Actor)? = #isolation,
  work: () async throws -> Value
) async throws(CancellationError) -> Value? {
  while !Task.isCancelled {
    do {
      return try await work()
    } catch {
      if error is CancellationError || Task.isCancelled { break }
      guard canRetry(error) else {
        await prompt.inform(of: error)
        return nil
      }
      let wantsToRetry = await prompt.confirmRetry(after: error)
      // After a cancellation, the user's answer does not count.
      if !wantsToRetry && !Task.isCancelled { return nil }
    }
  }
  throw CancellationError()
}

/// Runs `work` until it succeeds. After `attempts` runs *in total*, throws the last error.
///
/// `pause` waits before each further attempt. Its argument is the number of that attempt, beginning
/// with 2. Cancellation is not retried.
public func retry<Value>(
  attempts: Int,
  isolation: isolated (any Actor)? = #isolation,
  pause: (Int) async throws -> Void = { _ in },
  work: () async throws -> Value
) async throws -> Value {
  var attempt = 1
  while true {
    do {
      return try await work()
    } catch {
      if error is CancellationError || Task.isCancelled || attempt >= attempts { throw error }
      attempt += 1
      try await pause(attempt)
      try Task.checkCancellation()
    }
  }
}
