/// Asks a person what to do about an error.
public protocol RetryPrompt: Sendable {
  /// Asks whether to try again. Returns when there is an answer.
  func confirmRetry(after error: any Error) async -> Bool

  /// Tells of an error that trying again cannot mend.
  func inform(of error: any Error) async
}

/// Runs `work`; on an error asks, on consent runs it again, on refusal ends quietly with `nil`.
///
/// An error that `canRetry` says no to is only told of, and ends quietly too. Cancellation goes
/// through, unasked, whatever error `work` makes of it. Attempts are bounded by the patience of whom
/// the prompt asks.
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
      // A prompt that was cancelled has no answer, whatever it says.
      if !wantsToRetry && !Task.isCancelled { return nil }
    }
  }
  throw CancellationError()
}

/// Runs `work` up to `attempts` times *in total* (less than 1 counts as 1), and throws the last error.
///
/// `pause` waits before each further attempt and is given its number, the second being 2. Cancellation
/// is not tried again.
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
