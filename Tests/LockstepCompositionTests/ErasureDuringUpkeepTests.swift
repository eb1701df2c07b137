import LockstepSQLite
import LockstepTestSupport
import LockstepThreading
import Testing

@testable import LockstepComposition
@testable import LockstepAccounts
@testable import LockstepCollections
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport
@testable import LockstepStore
@testable import LockstepSync

@Suite("Erasing users whose snapshots and refusals are being written", .timeLimit(.minutes(10)))
struct ErasureDuringUpkeepTests {
  private static let marker = "snapshot-zq"

  @Test(
    "A snapshot that was prepared before an erasure is not written after it",
    arguments: [true, false]
  )
  func snapshot(isFirst: Bool) async throws {
    func configure(_ configuration: inout Configuration) { configuration.defaultsQuota.bytes = 16_000_000 }
    try await ServerFixture.run(configure) { users in
      let services = try #require(users.running.withLock { $0 }?.services.users)
      let (readers, writer) = (services.storage.store.readers, services.storage.writer)
      let ada = try await users.signUp()
      let gate = ThreadGate()
      try readers.submit(length: .long) { _ in
        gate.pass()
      } completion: { _ in
      }
      // More than SQLite's page cache, so that a rollback would leave text in the WAL.
      let value = #""\#(String(repeating: Self.marker, count: 20_000))""#
      for number in 0..<28 {
        #expect(try await ada.put("/v1/defaults/standard/k\(number % 14)", value).status < 300)
      }
      #expect(readers.waiting > 0, "a snapshot is due")
      #expect(try await ada.ask("DELETE", "/v1/me", #"{"password":"correct horse"}"#).status == 204)
      func isFound() async throws -> Bool { try await users.storedText().contains(Self.marker) }
      try await eventually {
        try !TestedStore.isSQLite || users.directory.contents(of: "lockstep.db-wal").isEmpty
      }
      #expect(try await !isFound())

      // The writer may have left long writes to another thread. It counts them as failed.
      let failed = writer.statistics.failedUnits
      let held = isFirst ? nil : try await users.holdWriter()
      gate.open()
      try await readers.read(length: .long) { _ in }
      if let held { #expect(held.waiting > 0) }
      held?.letGo()
      try await writer.write { _ in }
      #expect(writer.statistics.failedUnits == failed)
      #expect(try await !isFound())
      await users.stop()
      #expect(try await !isFound())
    }
  }

  @Test("A refusal to a user who was erased meanwhile is not recorded")
  func refusal() async throws {
    try await ServerFixture.run { users in
      let services = try #require(users.running.withLock { $0 }?.services.users)
      let (ledger, writer) = (services.states.accountsLedger, services.storage.writer)
      let ada = try await users.signUp()
      let user = UserID(try #require(UUIDv7(ada.user)))
      let refusal = StoredResponse(status: 403, fields: [], body: Array(Self.marker.utf8))
      let key = AccountsLedger.Key(key: IdempotencyKey("1", fingerprint: [1]), owner: .user(user))
      let response = try await ledger.commit(
        key: key,
        prepare: { () async throws(AccountsError) -> PreparedAccountsWrite<Void> in
          _ = try? await ada.ask("DELETE", "/v1/me", #"{"password":"correct horse"}"#)
          throw .wrongPassword
        },
        response: { (refusal, recorded: refusal) },
        refusal: { _ in (refusal, recorded: refusal) }
      )
      #expect(response.response == refusal)
      #expect(writer.statistics.failedUnits == 0)
      #expect(try await users.count("users") == 0)
      #expect(try await users.count("idempotency_keys") == 0)
    }
  }
}
