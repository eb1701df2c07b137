import LockstepCollections
import LockstepPostgreSQL
import LockstepTime

/// The facts about one user that a decision needs, read while the user's head is locked.
package final class LockedFacts {
  /// The end of the user's history; nil if there is no such user.
  private(set) var head: (revision: Revision, written: Int)?
  private var missed: [MissedEntry] = []
  private var sessions: Set<SessionID> = []
  private var responses: [String: RecordedResponse] = [:]

  struct RecordedResponse {
    let fingerprint: [UInt8]
    let at: Timestamp
    let response: StoredResponse
  }

  func setHead(_ revision: Revision, written: Int) { head = (revision, written) }
  func add(_ entry: MissedEntry) { missed.append(entry) }
  func add(_ session: SessionID) { sessions.insert(session) }
  func add(_ response: RecordedResponse, for key: String) { responses[key] = response }

  func has(_ session: SessionID) -> Bool { sessions.contains(session) }

  func response(to key: IdempotencyKey, at now: Timestamp) throws -> StoredResponse? {
    guard let recorded = responses[key.key],
      recorded.at.millisecondsSince1970 > now.millisecondsSince1970 - IdempotencyRecords.lifetime
    else { return nil }
    guard recorded.fingerprint == key.fingerprint else { throw IdempotencyKeyReusedError() }
    return recorded.response
  }

  /// Notes a decided transaction of the group, so that the next one of the user starts after it.
  func note(_ writes: WriteSet) {
    if let last = writes.actions.last?.entry { head = (last.revision, last.written) }
    guard let record = writes.record else { return }
    responses[record.key.key] = RecordedResponse(
      fingerprint: record.key.fingerprint,
      at: record.at,
      response: record.response
    )
  }

  /// The user's state at the head: a state in memory with the changes of other nodes that it lacks.
  /// Throws `StaleStateError` if the state in memory is not in the user's history.
  func latest(_ state: UserState, by tables: ModuleTables) throws -> UserState {
    guard let head, state.revision != head.revision else { return state }
    let latest = try state.applying(missed, by: tables)
    guard latest.revision == head.revision else { throw StaleStateError() }
    return latest
  }
}
