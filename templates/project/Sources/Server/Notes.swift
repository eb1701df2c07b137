import Lockstep

/// A note, as clients get it.
struct Note: ListElement, Equatable {
  let id: String
  var text: String
  var isDone = false
  let createdAt: Timestamp

  static let format = ValueFormat<Note>(
    .member("id", .text, \.id),
    .member("text", .text, \.text),
    .member("isDone", .flag, \.isDone),
    .member("createdAt", .time.readOnly, \.createdAt)
  )
}

extension Note {
  /// Reads every note that any version of this server has written.
  init?(_ object: JSONObject) {
    guard let id = object["id"]?.stringValue, let text = object["text"]?.stringValue,
      let isDone = object["isDone"]?.boolValue,
      let createdAt = object["createdAt"]?.stringValue.flatMap({ Timestamp($0) })
    else { return nil }
    self.init(id: id, text: text, isDone: isDone, createdAt: createdAt)
  }
}

/// The actions that a client can send. `SyncedList` of the Swift client sends actions with these
/// names and payloads.
enum NotesAction: Sendable {
  /// Replaces the note with this id, or adds a new note at an index or at the end.
  case add(id: String, text: String, isDone: Bool?, index: Int?)
  /// Changes the members that are not nil.
  case update(id: String, text: String?, isDone: Bool?)
  case move(id: String, index: Int)
  case remove(id: String)
}

/// Decides which mutations an action causes.
struct NotesReactor: ModuleReactor {
  /// The time of the transaction.
  let now: Timestamp

  func mutate(_ action: NotesAction, in notes: ListState) throws(Refusal) -> [ListMutation] {
    switch action {
    case .add(let id, let text, let isDone, let index):
      if let old: Note = notes.element(id) { return update(old, text: text, isDone: isDone ?? false) }
      let new = Note(id: id, text: text, isDone: isDone ?? false, createdAt: now)
      return [.inserting(new, at: min(index ?? notes.count, notes.count))]
    case .update(let id, let text, let isDone):
      return update(try existing(id, in: notes), text: text, isDone: isDone)
    case .move(let id, let index):
      let target = min(index, notes.count - 1)
      return notes.index(of: try existing(id, in: notes).id) == target ? [] : [.moved(id: id, to: target)]
    case .remove(let id): return [.removed(id: try existing(id, in: notes).id)]
    }
  }

  /// No mutation if nothing differs.
  private func update(_ old: Note, text: String?, isDone: Bool?) -> [ListMutation] {
    var new = old
    new.text = text ?? old.text
    new.isDone = isDone ?? old.isDone
    return new == old ? [] : [.replacing(new)]
  }

  private func existing(_ id: String, in notes: ListState) throws(Refusal) -> Note {
    guard let note: Note = notes.element(id) else { throw .notFound("No note has the id “\(id)”.") }
    return note
  }
}

extension UserModule {
  /// The module `notes`, at `/v1/notes`.
  static var notes: UserModule {
    .list(
      "notes",
      of: Note.self,
      quota: CollectionQuota(elements: 10_000),
      actions: [
        ActionCase(
          "add",
          .name("id"),
          .text("text", bytes: 1...10_000),
          .optionalFlag("isDone"),
          .optionalIndex("index")
        ) { .add(id: $0, text: $1, isDone: $2, index: $3) },
        ActionCase("update", .name("id"), .optionalText("text", bytes: 1...10_000), .optionalFlag("isDone")) {
          .update(id: $0, text: $1, isDone: $2)
        },
        ActionCase("move", .name("id"), .index("index")) { .move(id: $0, index: $1) },
        ActionCase("remove", .name("id")) { .remove(id: $0) },
      ],
      verbs: [.put: "add", .patch: "update", .delete: "remove", .move: "move"]
    ) { NotesReactor(now: $0.now) }
  }
}
