import LockstepCollections
import LockstepJSON
import LockstepTime

// Modules as other packages write them, with the public API only.

/// An element of the list of notes. It describes itself, because only the reactor sets the time.
struct Note: SchemaProviding, Identifiable, Equatable, Sendable {
  let id: String
  var text: String
  let madeAt: Timestamp

  static let schema: JSON = [
    "type": "object",
    "properties": [
      "id": ["type": "string"], "text": ["type": "string"],
      "madeAt": ["type": "string", "format": "date-time", "readOnly": true],
    ],
    "required": ["id", "text", "madeAt"],
  ]
  static let example = Note(id: "a", text: "one", madeAt: Timestamp(millisecondsSince1970: 0))
}

enum NotesAction: Sendable {
  case put(id: String, text: String, index: Int?)
  case remove(id: String)
  case move(id: String, index: Int)
  case clear
  /// Makes the reactor return something invalid, as a faulty reactor would.
  case err(Mistake)

  enum Mistake: String, CaseIterable, Sendable {
    case otherID
    case noElement
    case emptyID
  }
}

/// Notes: the newest where one wants it.
struct NotesReactor: ModuleReactor {
  let now: Timestamp

  func mutate(_ action: NotesAction, in list: ListState) throws(Refusal) -> [ListMutation] {
    switch action {
    case .put(let id, let text, let index):
      guard let old = list.element(id, as: Note.self) else {
        return [.inserting(Note(id: id, text: text, madeAt: now), at: index ?? list.count)]
      }
      return old.text == text ? [] : [.replacing(Note(id: id, text: text, madeAt: old.madeAt))]
    case .remove(let id):
      guard list[id] != nil else { throw .notFound("There is no such note.") }
      return [.removed(id: id)]
    case .move(let id, let index):
      guard let place = list.index(of: id) else { throw .notFound("There is no such note.") }
      return place == index ? [] : [.moved(id: id, to: index)]
    case .clear: return list.count == 0 ? [] : [.cleared]
    case .err(.otherID): return [.inserted(id: "a", item: EncodedJSON(text: #"{"id":"b","text":""}"#), index: 0)]
    case .err(.noElement): return [.inserted(id: "a", item: EncodedJSON(text: #"{"id":"a"}"#), index: 0)]
    case .err(.emptyID): return [.inserting(Note(id: "", text: "", madeAt: now), at: 0)]
    }
  }
}

enum ScoresAction: Sendable {
  case set(key: String, value: JSON)
  case remove(key: String)
  case clear
}

/// Scores: any JSON by its key.
struct ScoresReactor: ModuleReactor {
  func mutate(_ action: ScoresAction, in map: MapState) throws(Refusal) -> [MapMutation] {
    switch action {
    case .set(let key, let value): return [.setting(key, to: value)]
    case .remove(let key):
      guard map[key] != nil else { throw .notFound("There is no such score.") }
      return [.removed(key: key)]
    case .clear: return [.cleared]
    }
  }
}

extension UserModule {
  /// The list `/v1/notes`.
  static var notes: UserModule { notes() }

  /// The list `/v1/notes` with a quota.
  static func notes(_ quota: CollectionQuota = CollectionQuota(), named name: String = "notes") -> UserModule {
    .list(
      name,
      of: Note.self,
      quota: quota,
      actions: [
        ActionCase("put", .name("id"), .text("text", bytes: 0...40), .optionalIndex("index")) {
          .put(id: $0, text: $1, index: $2)
        },
        ActionCase("edit", .name("id"), .text("text", bytes: 0...40)) { .put(id: $0, text: $1, index: nil) },
        ActionCase("remove", .name("id")) { .remove(id: $0) },
        ActionCase("move", .name("id"), .index("index")) { .move(id: $0, index: $1) },
        ActionCase("clear") { .clear },
        ActionCase("err", .text("mistake", oneOf: NotesAction.Mistake.allCases.map(\.rawValue))) {
          .err(NotesAction.Mistake(rawValue: $0) ?? .otherID)
        },
      ],
      verbs: [.put: "put", .patch: "edit", .delete: "remove"]
    ) { NotesReactor(now: $0.now) }
  }

  /// The map `/v1/scores`.
  static var scores: UserModule { scores() }

  /// The map `/v1/scores` with a quota.
  static func scores(_ quota: CollectionQuota = CollectionQuota()) -> UserModule {
    .map(
      "scores",
      value: ["type": ["number", "string"]],
      quota: quota,
      actions: [
        ActionCase("set", .name("key"), .json("value", bytes: 20)) { .set(key: $0, value: $1) },
        ActionCase("remove", .name("key")) { .remove(key: $0) },
        ActionCase("clear") { .clear },
      ],
      verbs: [.put: "set", .delete: "remove"]
    ) { _ in ScoresReactor() }
  }
}
