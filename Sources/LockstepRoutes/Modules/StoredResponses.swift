import LockstepCollections
import LockstepHTTP
import LockstepMiddleware
import LockstepStore
import LockstepSync

/// Stores responses to writes with an idempotency key, and rebuilds those that were stored without
/// their body.
///
/// The response to a small change may show a large resource. Storing that response would take more
/// space than the change, and storing the response to a large change would double it. So a body that
/// can be rebuilt is not stored, unless it is short:
///
/// - A response that shows a resource is rebuilt from the history at its cursor, byte for byte.
/// - The results of a batch of actions are rebuilt from the journal.
///
/// The server keeps idempotency keys for a day, and history usually longer. It keeps less history
/// if the operator sets a lower limit, or if so much was written that the oldest part was pruned.
struct StoredResponses: Sendable {
  /// A body with more bytes is not stored if it can be rebuilt. A record takes about 450 bytes without its body.
  static let longestBody = 256
  /// The same for a 412. Rebuilding one asks the preconditions again, so only those that take much space are.
  static let longestRefusal = 16 * 1024

  let reading: StateReader

  /// The part of a response to `write` that is stored. Only a 2xx response and a 412 can be rebuilt, if they show
  /// something that has an ETag. `isChanged` tells whether the journal has the results of the write.
  static func kept(_ response: StoredResponse, to write: some StateWrite, isChanged: Bool) -> StoredResponse {
    let isRefusal = response.status == Status.preconditionFailed.code
    guard let body = response.body, body.count > (isRefusal ? longestRefusal : longestBody) else { return response }
    guard isRefusal || (200..<300).contains(response.status) && (write.again != nil || isChanged),
      HeaderFields(recorded: response.fields)[.etag] != nil
    else { return response }
    return StoredResponse(status: response.status, fields: response.fields, body: nil)
  }

  /// Rebuilds the full response as it was sent the first time, outside the event loop. `write` and `preconditions` are read
  /// from the repeated request. Throws `conflict` if the history no longer has what the response
  /// showed.
  func whole(
    _ stored: StoredResponse,
    to write: some StateWrite,
    _ preconditions: Preconditions,
    of user: UserID,
    from network: Int?
  ) async throws -> StoredResponse {
    let fields = HeaderFields(recorded: stored.fields)
    var position = HeaderFields()
    for name in [FieldName.cursor, .revision] {
      if let value = fields[name] { position.append(name, value) }
    }
    // A response without a body has no `Content-Type`, so one with this field had a body.
    guard stored.body == nil, fields[.contentType] != nil else { return stored }
    let gone = Problem(
      .conflict,
      detail:
        "This request already got a response, and was not applied again. That response was too long to store, and the "
        + "history that is needed to rebuild it was pruned. Read the resource as it is now.",
      fields: position
    )
    guard let cursor = fields[.cursor].flatMap({ Cursor($0) }), let tag = fields[.etag] else { throw gone }
    let body: [UInt8]?
    if stored.status == Status.preconditionFailed.code {
      body = try await refusal(by: write.conditions(of: preconditions), of: user, from: network, at: cursor, tag)
    } else if let again = write.again {
      var past = PastStates(reader: reading, user: user, network: network)
      guard let resource = write.resource, let view = try await past.view(of: resource, at: cursor),
        let status = Status(code: stored.status)
      else { throw gone }
      body = try await reading.backgroundEncoder.run(for: user, from: network) { [again] in
        // The same tag means the same bytes.
        again(status, view).flatMap { $0.fields[.etag] == tag ? StoredResponse($0).body : nil }
      }
    } else {
      body = try await results(of: write.actions.count, of: user, from: network, at: cursor, tag)
    }
    guard let body else { throw gone }
    return StoredResponse(status: stored.status, fields: stored.fields, body: body)
  }

  /// The body of the 412 whose resource had this tag. Nil if the history was pruned.
  private func refusal(
    by conditions: [WriteCondition],
    of user: UserID,
    from network: Int?,
    at cursor: Cursor,
    _ tag: String
  ) async throws -> [UInt8]? {
    var past = PastStates(reader: reading, user: user, network: network)
    for condition in conditions {
      guard let resource = condition.resource, let view = try await past.view(of: resource, at: cursor) else {
        continue
      }
      let body = try await reading.backgroundEncoder.run(for: user, from: network) { () -> [UInt8]? in
        // The same tag means the same bytes.
        let refusal = condition.refusal(in: view, [])?.response
        return refusal.flatMap { $0.fields[.etag] == tag ? StoredResponse($0).body : nil }
      }
      if let body { return body }
    }
    return nil
  }

  /// The body of the response to a batch of actions, from the journal. `nil` if that was pruned.
  private func results(
    of count: Int,
    of user: UserID,
    from network: Int?,
    at cursor: Cursor,
    _ tag: String
  ) async throws -> [UInt8]? {
    let entries = try await reading.readers.read(for: user, from: network) {
      try Journal(connection: $0).entries(of: user, at: cursor.revision)
    }
    guard !entries.isEmpty, !entries.contains(where: { $0.mutations == "null" }) else { return nil }
    return try await reading.backgroundEncoder.run(for: user, from: network) {
      var results = [[UInt8]](repeating: Array("[]".utf8), count: count)
      for entry in entries where results.indices.contains(entry.position) {
        results[entry.position] = Array(entry.mutations.utf8)
      }
      return ActionBatch.body(String(tag.dropFirst().dropLast()), results)
    }
  }
}
