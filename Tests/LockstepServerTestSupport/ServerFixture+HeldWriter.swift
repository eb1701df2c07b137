@testable import LockstepComposition
@testable import LockstepAccounts
@testable import LockstepCollections
@testable import LockstepStateTestSupport
@testable import LockstepStore
@testable import LockstepSync
import LockstepTestSupport
import Testing

extension ServerFixture {
  /// Returns when the history and the records of keys of all users are within their limits.
  func maintenanceIsIdle() async {
    await eventually { running.withLock { $0 }?.services.users.states.maintenance.isPruning != true }
  }

  /// Blocks the server's writer after it has run all submitted writes.
  func holdWriter() async throws -> HeldWriter {
    let services = try #require(running.withLock { $0 }?.services.users)
    try await services.storage.writer.write { _ in }
    return try await HeldWriter.hold(services.storage.writer, services.states.ledger)
  }
}
