import Synchronization

/// Runs work of the app, and returns its value. If the task is cancelled first, returns nil at once, and the work goes
/// on without effect. So work that waits for the user does not keep the client from connecting again.
func unlessCancelled<Value: Sendable>(_ work: @escaping @Sendable () async -> Value) async -> Value? {
  let result = FirstResult<Value?>()
  return await withTaskCancellationHandler {
    await withCheckedContinuation { continuation in
      result.await(continuation)
      startInPlace { result.settle(await work()) }
    }
  } onCancel: {
    result.settle(nil)
  }
}

/// The first of several results.
final class FirstResult<Value: Sendable>: Sendable {
  private struct Contents: Sendable {
    var continuation: CheckedContinuation<Value, Never>?
    var value: Value?
  }

  private let contents = Mutex(Contents())

  func await(_ continuation: CheckedContinuation<Value, Never>) {
    let value = contents.withLock { contents in
      if contents.value == nil { contents.continuation = continuation }
      return contents.value
    }
    if let value { continuation.resume(returning: value) }
  }

  func settle(_ value: Value) {
    let continuation = contents.withLock { contents in
      if contents.value == nil { contents.value = value }
      return contents.continuation.take()
    }
    continuation?.resume(returning: value)
  }
}
