import Synchronization

/// Makes tasks wait until it is opened, or until they are cancelled.
final class Gate: Sendable {
  private struct State {
    var isOpen = false
    var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
    var next = 0
  }

  private let state = Mutex(State())
  private let cancelledCount = Atomic(0)

  /// How many tasks are waiting.
  var waiting: Int { state.withLock { $0.waiting.count } }
  /// How many tasks stopped waiting because they were cancelled.
  var cancelled: Int { cancelledCount.load(ordering: .sequentiallyConsistent) }

  func wait() async {
    let ticket = state.withLock { state in
      state.next += 1
      return state.next
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let goesOn = state.withLock { state in
          if state.isOpen || Task.isCancelled { return true }
          state.waiting[ticket] = continuation
          return false
        }
        if goesOn { continuation.resume() }
      }
    } onCancel: {
      cancelledCount.add(1, ordering: .sequentiallyConsistent)
      state.withLock { $0.waiting.removeValue(forKey: ticket) }?.resume()
    }
  }

  func open() {
    let waiting = state.withLock { state in
      state.isOpen = true
      defer { state.waiting = [:] }
      return Array(state.waiting.values)
    }
    for continuation in waiting { continuation.resume() }
  }
}
