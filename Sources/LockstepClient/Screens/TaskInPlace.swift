/// Starts work that goes on when the present task is cancelled, on the same executor: so a test in virtual time runs
/// it too, except on older systems of Apple.
package func startInPlace(_ work: @escaping @Sendable () async -> Void) {
  #if compiler(>=6.3)
    if #available(macOS 26.4, iOS 26.4, tvOS 26.4, watchOS 26.4, visionOS 26.4, *) {
      let executor = withUnsafeCurrentTask { $0?.unownedTaskExecutor?.asTaskExecutor() }
      Task(executorPreference: executor) { await work() }
      return
    }
  #endif
  Task { await work() }
}
