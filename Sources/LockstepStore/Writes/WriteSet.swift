import LockstepCollections
import LockstepSQLite
import LockstepTime

/// The writes of one transaction, decided and not stored yet.
package struct WriteSet: Sendable {
  package let user: UserID
  /// For each action that changed something, in order: its edits and its journal entry.
  package var actions: [(edits: CollectionEdits, entry: JournalEntry)] = []
  /// Nil for a transaction without an idempotency key.
  package var record: ResponseRecord?

  package init(user: UserID) {
    self.user = user
  }

  package var isEmpty: Bool { actions.isEmpty && record == nil }

  /// About how long PostgreSQL takes to write this, in nanoseconds. The writes of a group go to PostgreSQL
  /// together, so their times cannot be measured one by one.
  var expectedTime: Int64 {
    actions.reduce(Int64(record?.bytes ?? 0) * Self.timeOfByte) { time, action in
      let bytes = action.entry.action.utf8.count + action.entry.mutations.utf8.count
      return time + Self.timeOfAction + Int64(bytes) * Self.timeOfByte
    }
  }

  private static let timeOfAction: Int64 = 20_000
  private static let timeOfByte: Int64 = 10

  /// Adds the event of the new revision for the webhooks.
  @usableFromInline
  func addEvent(to connection: SQLiteConnection) throws {
    guard let event = WebhookEvent(self) else { return }
    try WebhookOutbox(connection: .sqlite(connection)).add(event)
  }
}

/// A response to record for its idempotency key.
// A class, because most write sets have none, and copying a nil reference is cheap.
package final class ResponseRecord: Sendable {
  let response: StoredResponse
  let key: IdempotencyKey
  let at: Timestamp
  /// See `IdempotencyRecords.bytes`.
  package var bytes: Int { IdempotencyRecords.bytes(of: response, to: key) }
  /// Nil if nothing changed, or if a service token made the change.
  let origin: KeyOrigin?

  package init(_ response: StoredResponse, to key: IdempotencyKey, at now: Timestamp, _ origin: KeyOrigin? = nil) {
    self.response = response
    self.key = key
    at = now
    self.origin = origin
  }
}
