import LockstepCollections
import LockstepJSON
import LockstepPostgreSQL
import LockstepTime

/// The facts about one user that a decision needs, read while the user's head is locked.
package final class LockedFacts {
  var tail = HistoryTail()
  private var sessions: Set<SessionID> = []
  /// The service tokens of the requests. No transaction deletes them before this one has ended.
  private let serviceTokens: Set<ExactText>
  private var responses: [ExactText: RecordedResponse] = [:]

  struct RecordedResponse {
    let fingerprint: [UInt8]
    let at: Timestamp
    let response: StoredResponse
  }

  init(serviceTokens: Set<ExactText>) { self.serviceTokens = serviceTokens }

  /// The end of the user's history; nil if there is no such user.
  var head: (revision: Revision, written: Int)? { tail.head }

  func add(_ session: SessionID) { sessions.insert(session) }
  func add(_ response: RecordedResponse, for key: String) { responses[key.exact] = response }

  func has(_ session: SessionID) -> Bool { sessions.contains(session) }

  func has(serviceToken: String) -> Bool { serviceTokens.contains(serviceToken.exact) }

  func response(to key: IdempotencyKey, at now: Timestamp) throws -> StoredResponse? {
    guard let recorded = responses[key.key.exact],
      recorded.at.millisecondsSince1970 > now.millisecondsSince1970 - IdempotencyRecords.lifetime
    else { return nil }
    guard recorded.fingerprint == key.fingerprint else { throw IdempotencyKeyReusedError() }
    return recorded.response
  }

  /// Notes a decided transaction of the group, so that the next one of the user starts after it.
  func note(_ writes: WriteSet) {
    if let last = writes.actions.last?.entry { tail.head = (last.revision, last.written) }
    guard let record = writes.record else { return }
    responses[record.key.key.exact] = RecordedResponse(
      fingerprint: record.key.fingerprint,
      at: record.at,
      response: record.response
    )
  }
}
