/// Starts work that goes on when the present task is cancelled, on the same executor: so a test in virtual time runs
/// it too.
package func startInPlace(_ work: @escaping @Sendable () async -> Void) {
  let executor = withUnsafeCurrentTask { $0?.unownedTaskExecutor?.asTaskExecutor() }
  Task(executorPreference: executor) { await work() }
}
