import LockstepCollections
import LockstepHTTP
import LockstepMiddleware
import LockstepStore
import LockstepSync

/// Stores responses to writes with an idempotency key, and rebuilds those that were stored without
/// their body.
///
/// A tiny change of a large resource has a response with the whole resource. Storing it would take
/// more room than the change itself. So a long body is not stored:
///
/// - A response that shows a resource is rebuilt from the history at its cursor, byte for byte.
/// - The results of a batch of actions are in the journal.
///
/// The history normally goes back further than idempotency keys do. It does not if the operator
/// keeps less than a day of it, or if so much was written that the oldest part was pruned.
package struct StoredResponses: Sendable {
  /// The longest body that is stored although it can be rebuilt. The journal keeps about as much
  /// for a change of a favorite.
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

  /// The part of a response that is stored. A refusal can only be rebuilt if it shows the resource.
  static func kept(_ answer: StoredResponse) -> StoredResponse {
    let showsResource = (200..<300).contains(answer.status) || answer.status == Status.preconditionFailed.code
    guard showsResource, let body = answer.body, body.count > longestBody else { return answer }
    return StoredResponse(status: answer.status, fields: answer.fields, body: nil)
  }

  /// Rebuilds the full response to a change that was made before.
  ///
  /// - Parameters:
  ///   - answer: The stored part of the response.
  ///   - change: The change, read from the repeated request.
  ///   - preconditions: The preconditions of the request.
  ///   - user: The user whose state was changed.
  /// - Returns: The response as it was sent the first time.
  /// - Throws: `conflict` if the history no longer has the state; an error of the store.
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

  /// Rebuilds a full response that shows a resource.
  ///
  /// - Parameters:
  ///   - answer: The stored part of the response.
  ///   - extent: The collections that the resource depends on.
  ///   - user: The user whose state was changed.
  ///   - again: Makes the response from the past state.
  /// - Returns: The response as it was sent the first time.
  /// - Throws: `conflict` if the history no longer has the state; an error of the store.
  func whole(
    _ answer: StoredResponse,
    showing extent: StateHistory.Extent,
    of user: UserID,
    again: (StateView) -> Response?
  ) async throws -> StoredResponse {
    guard Self.isCut(answer) else { return answer }
    let fields = HeaderFields(recorded: answer.fields)
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

  /// Rebuilds the full response to a batch of actions from the journal.
  ///
  /// - Parameters:
  ///   - answer: The stored part of the response.
  ///   - count: The number of actions in the batch.
  ///   - user: The user whose state was changed.
  /// - Returns: The response as it was sent the first time.
  /// - Throws: `conflict` if the history no longer has the entries; an error of the store.
  package func whole(_ answer: StoredResponse, toActions count: Int, of user: UserID) async throws -> StoredResponse {
    guard Self.isCut(answer) else { return answer }
    let fields = HeaderFields(recorded: answer.fields)
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

  /// Whether the body was not stored. A response without a body has no `Content-Type`, so one with
  /// this field had a body.
  private static func isCut(_ answer: StoredResponse) -> Bool {
    answer.body == nil && HeaderFields(recorded: answer.fields)[.contentType] != nil
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
