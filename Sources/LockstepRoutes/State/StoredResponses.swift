import LockstepCollections
import LockstepHTTP
import LockstepMiddleware
import LockstepStore
import LockstepSync

/// What is kept of answers to writes with an idempotency key, and how what wasn't comes back.
///
/// A tiny change of a large resource is answered with all of it, so that whole answers would take more of the store than
/// whatever was written. But a long answer shows a resource as it was at a cursor, and that the history can show again, to
/// the byte; and what several actions did is in the journal. That goes back further than keys do, unless the operator keeps
/// less than a day of it, or so much was written since that the oldest had to go.
package struct StoredResponses: Sendable {
  /// The longest body that is kept where it can be made again: about what the journal keeps of the change of a favorite.
  static let longestBody = 16 * 1024

  let store: String
  let registry: RegisteredLedger
  let history: StateHistory
  let readers: UserReaders

  package init(store: String, registry: RegisteredLedger, history: StateHistory, readers: UserReaders) {
    self.store = store
    self.registry = registry
    self.history = history
    self.readers = readers
  }

  /// What is kept of the answer to a change of a resource. Of refusals only one that shows the resource can be made again.
  static func kept(_ answer: StoredResponse) -> StoredResponse {
    let showsResource = (200..<300).contains(answer.status) || answer.status == Status.preconditionFailed.code
    guard showsResource, let body = answer.body, body.count > longestBody else { return answer }
    return StoredResponse(status: answer.status, fields: answer.fields, body: nil)
  }

  /// The whole answer to a change that was made before.
  ///
  /// - Parameters:
  ///   - answer: What was kept of it.
  ///   - change: The change, as the same request asks for it again.
  ///   - preconditions: The request's.
  ///   - user: Who asks.
  /// - Returns: The answer, as it was given then.
  /// - Throws: `conflict` where the history doesn't tell any more; why it can't be read.
  func whole(
    _ answer: StoredResponse,
    to change: StateWriter.Change,
    _ preconditions: Preconditions,
    of user: UserID
  ) async throws -> StoredResponse {
    try await whole(answer, showing: change.resource.extent, of: user) { view in
      Self.response(of: answer.status, to: change, preconditions, view)
    }
  }

  /// The whole answer that shows a resource.
  ///
  /// - Parameters:
  ///   - answer: What was kept of it.
  ///   - extent: What the resource is made of.
  ///   - user: Who asks.
  ///   - again: The answer by the state as it was.
  /// - Returns: The answer, as it was given then.
  /// - Throws: `conflict` where the history doesn't tell any more; why it can't be read.
  func whole(
    _ answer: StoredResponse,
    showing extent: StateHistory.Extent,
    of user: UserID,
    again: (StateView) -> Response?
  ) async throws -> StoredResponse {
    guard Self.isCut(answer) else { return answer }
    let fields = HeaderFields(kept: answer.fields)
    let gone = Self.gone(fields[.cursor])
    guard let cursor = fields[.cursor].flatMap({ Cursor($0) }) else { throw gone }
    let history = history
    let state = try await readers.read(for: user) { try history.state(of: user, at: cursor.revision, extent, from: $0) }
    guard let state else { throw gone }
    let view = StateView(store: store, state: state, registered: registry.current, at: cursor.registered)
    // The same tag means the same bytes.
    guard let again = again(view), again.status.code == answer.status, again.fields[.etag] == fields[.etag],
      let body = StoredResponse(again).body
    else { throw gone }
    return StoredResponse(status: answer.status, fields: answer.fields, body: body)
  }

  /// The whole answer to so many actions that were done before: what each did is in the journal.
  ///
  /// - Parameters:
  ///   - answer: What was kept of it.
  ///   - count: How many actions there were.
  ///   - user: Who asks.
  /// - Returns: The answer, as it was given then.
  /// - Throws: `conflict` where the history doesn't tell any more; why it can't be read.
  package func whole(_ answer: StoredResponse, toActions count: Int, of user: UserID) async throws -> StoredResponse {
    guard Self.isCut(answer) else { return answer }
    let fields = HeaderFields(kept: answer.fields)
    let gone = Self.gone(fields[.cursor])
    guard let cursor = fields[.cursor].flatMap({ Cursor($0) }), let tag = fields[.etag] else { throw gone }
    let entries = try await readers.read(for: user) {
      try Journal(connection: $0).entries(of: user, at: cursor.revision)
    }
    guard !entries.isEmpty else { throw gone }
    var results = [[UInt8]](repeating: Array("[]".utf8), count: count)
    for entry in entries where results.indices.contains(entry.position) {
      results[entry.position] = Array(entry.mutations.utf8)
    }
    return StoredResponse(
      status: answer.status,
      fields: answer.fields,
      body: ActionBatch.body(String(tag.dropFirst().dropLast()), results)
    )
  }

  /// Whether the body wasn't kept: what has no body says no type of one.
  private static func isCut(_ answer: StoredResponse) -> Bool {
    answer.body == nil && HeaderFields(kept: answer.fields)[.contentType] != nil
  }

  private static func response(
    of status: Int,
    to change: StateWriter.Change,
    _ preconditions: Preconditions,
    _ view: StateView
  ) -> Response? {
    guard status == Status.preconditionFailed.code else {
      return Status(code: status).map { change.response(after: view, $0) }
    }
    do {
      try preconditions.check(change.resource, in: view)
      return nil
    } catch {
      return (error as? Problem)?.response
    }
  }

  private static func gone(_ cursor: String?) -> Problem {
    var problem = Problem(
      .conflict,
      detail:
        "This request was answered before, and isn't done again. Its answer was too long to keep, and the history "
        + "that it could be made of is gone: ask for the resource as it is now."
    )
    if let cursor { problem.fields.append(.cursor, cursor) }
    return problem
  }
}
