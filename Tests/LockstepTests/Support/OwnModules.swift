import LockstepCollections
import LockstepJSON
import LockstepReactor
import LockstepTime

// Modules as other packages write them, with the public API only.

/// An element of the list of notes.
struct Note: ListElement, Equatable {
  let id: String
  var text: String
  let madeAt: Timestamp

  static let format = ValueFormat<Note>(
    .member("id", .text, \.id),
    .member("text", .text, \.text),
    .member("madeAt", .time.readOnly, \.madeAt)
  )
}

extension Note {
  init?(_ object: JSONObject) {
    guard let id = object["id"]?.stringValue, let text = object["text"]?.stringValue,
      let madeAt = object["madeAt"]?.stringValue.flatMap({ Timestamp($0) })
    else { return nil }
    self.init(id: id, text: text, madeAt: madeAt)
  }
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
    case takesTime
    case cancelsItself
  }
}

/// Notes, each inserted at any place.
struct NotesReactor: Reactor {
  let now: Timestamp

  var initialState: ListState { ListState() }

  func mutate(_ action: NotesAction, in list: ListState) -> Effect<ListMutation> {
    switch action {
    case .put(let id, let text, let index):
      guard let old = list.element(id, as: Note.self) else {
        return .just(.inserting(Note(id: id, text: text, madeAt: now), at: index ?? list.count))
      }
      return old.text == text ? .none : .just(.replacing(Note(id: id, text: text, madeAt: old.madeAt)))
    case .remove(let id):
      return list[id] == nil ? .failure(Refusal.notFound("There is no such note.")) : .just(.removed(id: id))
    case .move(let id, let index):
      guard let place = list.index(of: id) else { return .failure(Refusal.notFound("There is no such note.")) }
      return place == index ? .none : .just(.moved(id: id, to: index))
    case .clear: return list.count == 0 ? .none : .just(.cleared)
    case .err(.otherID): return .just(.inserted(id: "a", item: EncodedJSON(text: #"{"id":"b","text":""}"#), index: 0))
    case .err(.noElement): return .just(.inserted(id: "a", item: EncodedJSON(text: #"{"id":"a"}"#), index: 0))
    case .err(.emptyID): return .just(.inserting(Note(id: "", text: "", madeAt: now), at: 0))
    case .err(.takesTime): return .run { _ in }
    case .err(.cancelsItself): return .failure(CancellationError())
    }
  }

  static func reduce(_ list: inout ListState, _ mutation: ListMutation) { list.apply(mutation) }
}

enum ScoresAction: Sendable {
  case set(key: String, value: JSON)
  case remove(key: String)
  case clear
}

/// Scores: any JSON value for each key.
struct ScoresReactor: Reactor {
  var initialState: MapState { MapState() }

  func mutate(_ action: ScoresAction, in map: MapState) -> Effect<MapMutation> {
    switch action {
    case .set(let key, let value): .just(.setting(key, to: value))
    case .remove(let key):
      map[key] == nil ? .failure(Refusal.notFound("There is no such score.")) : .just(.removed(key: key))
    case .clear: .just(.cleared)
    }
  }

  static func reduce(_ map: inout MapState, _ mutation: MapMutation) { map.apply(mutation) }
}

extension UserModule {
  /// The list `/v1/notes`.
  static var notes: UserModule { notes() }

  /// The list `/v1/notes` with a quota.
  static func notes(_ quota: CollectionQuota = CollectionQuota()) -> UserModule {
    .list(
      "notes",
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
          .err(NotesAction.Mistake(rawValue: $0) ?? .takesTime)
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
