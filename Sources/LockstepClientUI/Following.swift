/// Runs a task that ends with this object, so that a model that is released follows nothing any more.
final class FollowingTask: Sendable {
  private let task: Task<Void, Never>

  @MainActor
  init(_ body: @escaping @MainActor () async -> Void) {
    task = Task { @MainActor in await body() }
  }

  deinit { task.cancel() }
}
