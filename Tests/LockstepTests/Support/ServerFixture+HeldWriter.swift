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
  /// Has the server's writer do nothing until it's let go, once it has done all that was asked of it before.
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

/// A writer that does nothing. It has to be let go.
struct HeldWriter {
  fileprivate let writer: DatabaseWriter
  fileprivate let gate: ThreadGate

  /// How many writes wait for it.
  var waiting: Int { writer.statistics.waiting }

  func letGo() { gate.open() }
}
