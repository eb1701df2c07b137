#if DEBUG
  import Synchronization

  /// Counts comparisons and moves of an object's members in a task, for tests of their growth.
  final class OperationCounter: Sendable {
    @TaskLocal static var current: OperationCounter?
    let count = Atomic(0)
  }
#endif

@inline(__always)
func countOperations(_ number: Int = 1) {
  #if DEBUG
    OperationCounter.current?.count.add(number, ordering: .relaxed)
  #endif
}
