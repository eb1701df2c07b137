@testable import LockstepStore
@testable import LockstepSync

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
