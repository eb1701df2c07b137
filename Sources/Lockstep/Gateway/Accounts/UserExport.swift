import HTTP
import JSON
import SQLite

/// All that is stored about a user, as one document.
struct UserExport: Sendable {
  let store: String
  let accounts: StoredAccounts
  let states: StateTables
  let registry: RegisteredLedger
  let readers: Readers

  /// The document, of one moment.
  func document(of user: UserID) async throws -> JSON {
    let document = try await readers.read { connection -> JSON? in
      guard var document = try accounts.export(user, from: connection) else { return nil }
      let state = try states.load(user, from: connection)
      document["cursor"] = .string(
        Cursor(store: store, revision: state.revision, registered: registry.current.revision).text
      )
      document["favorites"] = .array(state.list(FavoritesReactor.collection).items.map { .object($0.object) })
      document["defaults"] = .object(
        JSONObject(state.collections(of: "defaults").map { ($0.name.part ?? "", Self.values(of: $0.state)) })
      )
      document["profile"] = Self.values(of: .map(state.map(ProfileReactor.collection)))
      let entries = try Journal(connection: connection).entries(of: user, after: .none, upTo: state.revision)
      document["journal"] = .array(entries.map { $0.json(store: store) })
      // Where the beginning of the journal is gone they are all that tells of it.
      document["snapshots"] = .array(
        try Snapshots(connection: connection).all(of: user).map { name, revision, state in
          let cursor = Cursor(store: store, revision: revision)
          return Self.snapshot(of: name, at: cursor, state)
        }
      )
      document["idempotencyKeys"] = .array(
        try IdempotencyRecords(connection: connection).keys(of: user).map { key, at in
          ["key": .string(key), "at": .string(at.description)]
        }
      )
      return .object(document)
    }
    guard let document else { throw SessionGate.unauthorized(true) }
    return document
  }

  /// A collection as it was, in the form in which the feed tells a whole one.
  private static func snapshot(of name: CollectionName, at cursor: Cursor, _ state: CollectionState) -> JSON {
    var object: JSONObject = ["collection": .string(name.description), "cursor": .string(cursor.text)]
    switch state {
    case .list(let list): object["items"] = .array(list.items.map { .object($0.object) })
    case .map: object["values"] = values(of: state)
    }
    return .object(object)
  }

  private static func values(of collection: CollectionState) -> JSON {
    guard case .map(let map) = collection else { return .null }
    return .object(JSONObject(map.values.sorted { $0.key < $1.key }.map { ($0.key.text, $0.value.json) }))
  }
}

extension Journal.Entry {
  /// The entry as clients see it.
  func json(store: String) -> JSON {
    var object: JSONObject = [
      "cursor": .string(Cursor(store: store, revision: revision).text), "at": .string(at.description),
    ]
    object["session"] = session.map { .string($0.description) } ?? .null
    object["module"] = .string(collection.module)
    object["action"] = JSON(trusting: Array(action.utf8))
    object["mutations"] = JSON(trusting: Array(mutations.utf8))
    return .object(object)
  }
}
