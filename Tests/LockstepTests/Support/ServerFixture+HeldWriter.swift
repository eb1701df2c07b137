@testable import LockstepComposition
@testable import LockstepAccounts
@testable import LockstepCollections
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

/// A blocked writer. The test must release it.
struct HeldWriter {
  private let writer: StoreWriter
  private let gates: [ThreadGate]

  /// The number of waiting writes.
  var waiting: Int { writer.statistics.waiting }

  func letGo() { for gate in gates { gate.open() } }

  /// Blocks the writer of a store. In PostgreSQL, it has two threads: one for units, and one for the
  /// ledger's transactions, which a transaction of another user blocks.
  static func hold(_ writer: StoreWriter, _ ledger: Ledger) async throws -> HeldWriter {
    var gates: [ThreadGate] = []
    if !TestedStore.isSQLite {
      let holder = SyncFixture.session(1 << 40)
      try await writer.write { try SyncFixture.insert(holder, 1 << 40, in: $0) }
      let (isHeld, gate) = (ThreadGate(), ThreadGate())
      let transaction = SyncFixture.transaction([], as: holder) { _ in
        isHeld.open()
        gate.pass()
      }
      let reservation = ledger.reserve(holder.user)
      if reservation.needsLoading { try await ledger.load(reservation, from: nil) }
      try ledger.submit(transaction, reservation) { _ in }
      await isHeld.opened()
      gates.append(gate)
    }
    let (isHeld, gate) = (ThreadGate(), ThreadGate())
    try writer.submit { _ in
      isHeld.open()
      gate.pass()
    } completion: { _ in
    }
    await isHeld.opened()
    return HeldWriter(writer: writer, gates: gates + [gate])
  }
}
