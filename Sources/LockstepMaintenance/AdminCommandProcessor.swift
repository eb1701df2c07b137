import LockstepAccounts
import LockstepCollections
import LockstepSQLite
import LockstepStore
import LockstepThreading
import LockstepTime

/// Where a server does what operators' commands ask for while it serves.
///
/// An order is done in one transaction of the writer's, with all that it changes and what became of it. Then what it ended
/// ends in memory, as when a user does it themselves: tokens are refused, those who wait are told. Only then does the order
/// count as settled, which the command waits for. So when a command says that somebody is locked out, they are.
///
/// A server that dies in between has nothing in memory any more: the next one only has to say so. So there is one desk for a
/// store at a time: to a second one, what the first is just doing would look like what a dead server has left.
package struct AdminCommandProcessor: Sendable {
  /// How long an order waits at most until it's looked at.
  static let interval = Duration.seconds(1)

  let accounts: StoredAccounts
  let readers: ReaderPool
  let writer: DatabaseWriter
  /// Forgets the state of a user who is gone.
  let forget: @Sendable (UserID) -> Void
  let now: @Sendable () -> Timestamp
  /// Told of each order that was carried out: what kind, and about whom.
  let note: @Sendable (String, UserID) -> Void

  package init(
    accounts: StoredAccounts,
    readers: ReaderPool,
    writer: DatabaseWriter,
    forget: @escaping @Sendable (UserID) -> Void,
    now: @escaping @Sendable () -> Timestamp,
    note: @escaping @Sendable (String, UserID) -> Void
  ) {
    self.accounts = accounts
    self.readers = readers
    self.writer = writer
    self.forget = forget
    self.now = now
    self.note = note
  }

  /// Looks once a second until the task is cancelled. What can't be done, because the store fails, is tried again.
  package func attend(by clock: any Clock<Duration>) async {
    while (try? await clock.sleep(for: Self.interval)) != nil {
      try? await work()
    }
  }

  /// Does all that is asked for now, in order. One that fails keeps none of the others from being done; the last error is
  /// thrown when all have been tried.
  func work() async throws {
    var failure: (any Error)?
    for id in try await readers.read({ try AdminCommandRecords(connection: $0).unsettled() }) {
      do {
        try await work(id)
      } catch {
        failure = error
      }
    }
    if let failure { throw failure }
  }

  private func work(_ id: String) async throws {
    let now = now()
    let write = PreparedAccountsWrite { connection -> (AdminCommand?, [EndedSession]) in
      let records = AdminCommandRecords(connection: connection)
      try records.dropStale(at: now)
      // Withdrawn, or done by a server that has died since.
      guard let order = try records.waiting(id) else { return (nil, []) }
      let (outcome, ended) = try order.perform(in: connection, at: now)
      try records.note(outcome, of: id)
      return (order, ended)
    }
    let order = try await accounts.commit(write)
    if let order, order.kind == "erase" { forget(order.user) }
    try await writer.write { try AdminCommandRecords(connection: $0).settle(id, at: now) }
    if let order { note(order.kind, order.user) }
  }
}
