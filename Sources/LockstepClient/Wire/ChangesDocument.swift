import LockstepCollections
import LockstepJSON

/// A response of `GET /v1/changes`. The tests of the server read its responses with this type too.
package struct ChangesDocument: Sendable {
  /// A position in the user's history.
  package struct Position: Sendable, Equatable {
    package let cursor: String
    /// The number of transactions that the state includes.
    package let revision: Int

    /// Whether a text can be a part of a URL as it is.
    static func isCursor(_ text: String) -> Bool {
      (1...256).contains(text.utf8.count)
        && text.utf8.allSatisfy { byte in
          switch byte {
          case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
          case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"): true
          default: false
          }
        }
    }

    /// Whether a server can have made a number. Calculations with any other number could overflow.
    static func isRevision(_ number: Int) -> Bool { (0..<1 << 43).contains(number) }
  }

  /// The change of one collection.
  package struct Changeset: Sendable {
    package enum Change: Sendable {
      /// All elements, after a reset.
      case items([EncodedJSON])
      /// All values, after a reset.
      case values([(key: String, value: EncodedJSON)])
      case list(ListChange)
      case map(set: [(key: String, value: EncodedJSON)], removed: [String])
    }

    package let collection: CollectionName
    package let change: Change
    /// The changeset as the server sent it.
    let json: JSON

    /// Whether the change has all elements or values, so that the collection before does not matter.
    var isWhole: Bool {
      switch change {
      case .items, .values: true
      case .list, .map: false
      }
    }
  }

  package struct ListChange: Sendable {
    package var deletions: [String] = []
    package var insertions: [(index: Int, id: String, item: EncodedJSON)] = []
    package var moves: [(to: Int, id: String)] = []
    package var modifications: [(id: String, item: EncodedJSON)] = []
  }

  /// The cursor of the request; nil without one.
  package let since: String?
  package let position: Position
  package let isReset: Bool
  package let changesets: [Changeset]
  /// The keys of this session's own writes that the state includes.
  package let keys: Set<ExactText>

  /// Reads a response. Nil if it is not one of a Lockstep server.
  package init?(_ json: JSON) {
    guard let cursor = json["cursor"]?.stringValue, Position.isCursor(cursor),
      let revision = json["revision"]?.intValue,
      Position.isRevision(revision), let changesets = json["changesets"]?.arrayValue
    else { return nil }
    position = Position(cursor: cursor, revision: revision)
    since = json["since"]?.stringValue
    isReset = json["reset"]?.boolValue ?? false
    keys = Set((json["keys"]?.arrayValue ?? []).compactMap { $0.stringValue?.exact })
    var all: [Changeset] = []
    for changeset in changesets {
      guard let read = Changeset(changeset) else { return nil }
      all.append(read)
    }
    self.changesets = all
  }
}

extension ChangesDocument.Changeset {
  /// Reads a changeset. Nil for anything else.
  init?(_ json: JSON) {
    guard let name = json["collection"]?.stringValue else { return nil }
    self.json = json
    collection = CollectionName(text: name)
    if let items = json["items"]?.arrayValue {
      change = .items(items.map { EncodedJSON($0) })
    } else if let values = json["values"]?.objectValue {
      change = .values(Self.values(values))
    } else if json["kind"]?.stringValue == "map" {
      guard let set = json["set"]?.objectValue else { return nil }
      change = .map(set: Self.values(set), removed: (json["removed"]?.arrayValue ?? []).compactMap(\.stringValue))
    } else {
      guard let list = ChangesDocument.ListChange(json) else { return nil }
      change = .list(list)
    }
  }

  private static func values(_ object: JSONObject) -> [(key: String, value: EncodedJSON)] {
    object.map { ($0.name, EncodedJSON($0.value)) }
  }
}

extension ChangesDocument.ListChange {
  fileprivate init?(_ json: JSON) {
    for deletion in json["deletions"]?.arrayValue ?? [] {
      guard let id = deletion["id"]?.stringValue else { return nil }
      deletions.append(id)
    }
    for insertion in json["insertions"]?.arrayValue ?? [] {
      guard let index = insertion["index"]?.intValue, let item = insertion["item"], let id = item["id"]?.stringValue
      else { return nil }
      insertions.append((index, id, EncodedJSON(item)))
    }
    for move in json["moves"]?.arrayValue ?? [] {
      guard let to = move["to"]?.intValue, let id = move["id"]?.stringValue else { return nil }
      moves.append((to, id))
    }
    for modification in json["modifications"]?.arrayValue ?? [] {
      guard let item = modification["item"], let id = item["id"]?.stringValue else { return nil }
      modifications.append((id, EncodedJSON(item)))
    }
  }
}
