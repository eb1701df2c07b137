import LockstepSQLite
import Testing

@testable import Lockstep
@testable import LockstepCollections
import LockstepJSON
@testable import LockstepMaintenance
@testable import LockstepRoutes
@testable import LockstepScreens
@testable import LockstepStore
@testable import LockstepSync

extension ServerFixture {
  /// Blocks the server's writer after it has run all submitted writes.
  func holdWriter() async throws -> HeldWriter {
    let writer = try #require(running.withLock { $0 }?.services.users?.writer)
    try await writer.write { _ in }
    let (isHeld, gate) = (ThreadGate(), ThreadGate())
    try writer.submit { _ in
      isHeld.open()
      gate.pass()
    } completion: { _ in
    }
    await isHeld.opened()
    return HeldWriter(writer: writer, gate: gate)
  }
}

/// A blocked writer. The test must release it.
struct HeldWriter {
  fileprivate let writer: StoreWriter
  fileprivate let gate: ThreadGate

  /// The number of waiting writes.
  var waiting: Int { writer.statistics.waiting }

  func letGo() { gate.open() }
}
