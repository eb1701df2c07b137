import LockstepAccounts
import LockstepCollections
import LockstepJSON
import LockstepLogging
import LockstepStore
import LockstepSync
import LockstepThreading
import LockstepTime

/// Runs pending admin commands in a server.
///
/// One transaction contains the command's changes and its outcome. Then the sessions that the
/// command ended are removed from memory, as if the user had ended them: tokens are refused, and
/// waiters are notified. After that, the command is marked as complete. `lockstep user` waits for
/// this mark. So when `lockstep user disable` returns, the server refuses the user's requests.
///
/// If a command has an outcome but is not complete, the server that ran it was killed, and this one
/// completes it. Several servers may process the commands of a store in PostgreSQL: each command is
/// run by one of them, and is complete when all servers know of its effects.
package struct AdminCommandProcessor: Sendable {
  static let pollInterval = Duration.seconds(1)

  let accounts: StoredAccounts
  let readers: StoreReaders
  let writer: StoreWriter
  /// Evicts the state of an erased user from memory.
  let evict: @Sendable (UserID) -> Void
  /// Changes declared collections. With the key of a command that a killed server had begun, it goes on.
  let collections: @Sendable (CollectionsWork, IdempotencyKey) async throws -> CollectionsOutcome
  let now: @Sendable () -> Timestamp
  let logger: Logger

  package init(
    accounts: StoredAccounts,
    readers: StoreReaders,
    writer: StoreWriter,
    evict: @escaping @Sendable (UserID) -> Void,
    collections: @escaping @Sendable (CollectionsWork, IdempotencyKey) async throws -> CollectionsOutcome,
    now: @escaping @Sendable () -> Timestamp,
    logger: Logger
  ) {
    self.accounts = accounts
    self.readers = readers
    self.writer = writer
    self.evict = evict
    self.collections = collections
    self.now = now
    self.logger = logger
  }

  /// Runs pending commands once a second until the task is cancelled. Retries commands that failed.
  package func run(by clock: any Clock<Duration>) async {
    while (try? await clock.sleep(for: Self.pollInterval)) != nil {
      try? await runPending()
    }
  }

  /// Runs all pending commands in order, even if some fail. Then throws the last error.
  func runPending() async throws {
    var failure: (any Error)?
    let now = now()
    for (id, hasRun) in try await readers.read({ try AdminCommandRecords(connection: $0).incomplete(at: now) }) {
      do {
        try await run(id, hasRun: hasRun)
      } catch {
        failure = error
      }
    }
    if let failure { throw failure }
  }

  /// Runs a command. `hasRun`: a server has run it and was killed, so it is only to be completed.
  private func run(_ id: String, hasRun: Bool) async throws {
    if try await readers.read({ try AdminCommandRecords(connection: $0).isOnCollections(id) }) {
      return try await changeCollections(id)
    }
    let now = now()
    let write = PreparedAccountsWrite { connection -> (AdminCommand?, [EndedSession]) in
      let records = AdminCommandRecords(connection: connection)
      // Another server may be about to run the command.
      try connection.lock(Array("order \(id)".utf8))
      try records.deleteStale(at: now)
      // Nil if the command was withdrawn, or if a server has run it.
      guard let command = try records.pending(id) else { return (nil, []) }
      let (outcome, ended) = try command.run(in: connection, at: now)
      try records.setOutcome(outcome, of: id)
      return (command, ended)
    }
    let command = try await accounts.commit(write)
    // Another server that has just run the command completes it when all servers know of its effects.
    guard command != nil || hasRun else { return }
    if let command, command.kind == "erase" { evict(command.user) }
    try await writer.write { try AdminCommandRecords(connection: $0).complete(id, at: now) }
    guard let command else { return }
    logger.log(.info, "ran an admin command", ["command": .string(command.kind), "user": .string("\(command.user)")])
  }

  /// Runs a command on declared collections. They change in transactions of their own, so a command that a
  /// killed server had begun is run again with the same key.
  private func changeCollections(_ id: String) async throws {
    let (begun, records) = (now(), { @Sendable in AdminCommandRecords(connection: $0) })
    let work = try await writer.write { connection in
      try records(connection).deleteStale(at: begun)
      return try records(connection).beginCollectionsWork(id)
    }
    guard let work = work.flatMap({ CollectionsWork(JSON(trusting: Array($0.utf8))) }) else { return }
    let outcome = try await collections(work, .ofCommand(id))
    let reply = outcome.json.description
    try await writer.write { [now] in try records($0).completeCollectionsWork(reply, id, at: now()) }
    let names: [JSON]
    switch work {
    case .apply(let declarations): names = declarations.map { .string($0.name) }
    case .delete(let name, _): names = [.string(name)]
    }
    logger.log(
      .info,
      "ran an admin command",
      ["command": "collections", "names": .array(names), "outcome": outcome.json]
    )
  }
}

extension IdempotencyKey {
  /// The key of an admin command, which no client can send.
  static func ofCommand(_ id: String) -> IdempotencyKey { IdempotencyKey("admin command \(id)", fingerprint: []) }
}
