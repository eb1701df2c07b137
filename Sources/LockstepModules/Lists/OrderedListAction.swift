import LockstepCollections
import LockstepJSON

enum OrderedListAction: Sendable {
  /// Replaces the element with this id, or adds a new element at an index or at the end.
  case add(id: String, ElementContent, index: Int?)
  /// Changes an element's content by a merge patch (RFC 7396).
  case update(id: String, patch: JSONObject)
  /// Changes an element's content by a JSON patch (RFC 6902).
  case patch(id: String, PatchDocument)
  case remove(id: String)
  case move(id: String, index: Int)
  /// Removes the element if it exists, otherwise adds it.
  case toggle(id: String, ToggledContent)
  case clear
}

extension OrderedListAction {
  static func cases(_ rules: ElementRules) -> [ActionCase<OrderedListAction>] {
    [
      ActionCase("add", .name("id"), .content(rules), .optionalIndex("index")) { .add(id: $0, $1, index: $2) },
      ActionCase("update", .name("id"), .contentPatch(rules)) { .update(id: $0, patch: $1) },
      ActionCase("remove", .name("id")) { .remove(id: $0) },
      ActionCase("move", .name("id"), .index("index")) { .move(id: $0, index: $1) },
      ActionCase("toggle", .name("id"), .toggled(rules)) { .toggle(id: $0, $1) },
      ActionCase("clear") { .clear },
    ]
  }

  /// The reactor checks the body of `PATCH`, after it has looked for the element. So a missing
  /// element gets 404 even if the body is invalid.
  static func verbs(_ rules: ElementRules) -> [ElementVerb: VerbAction<OrderedListAction>] {
    [
      .put: "add",
      .patch: .unlisted(
        ActionCase("update", .name("id"), .unchecked(like: .contentPatch(rules))) { (id: String, patch: JSONObject) in
          let changes = patch.filter { $0.name != "addedAt" && $0.name != "updatedAt" }
          return OrderedListAction.update(id: id, patch: JSONObject(changes.map { ($0.name, $0.value) }))
        }
      ),
      .jsonPatch: .unlisted(ActionCase("patch", .name("id"), .jsonPatch("operations")) { .patch(id: $0, $1) }),
      .delete: "remove",
      .move: "move",
    ]
  }

  /// The action as the journal shows it.
  var record: JSON {
    switch self {
    case .add(let id, let content, let index):
      var payload = content.object(withID: id)
      if let index { payload["index"] = .integer(Int64(index)) }
      return Self.record("add", payload)
    case .update(let id, let patch):
      return Self.record("update", JSONObject([("id", .string(id))] + patch.map { ($0.name, $0.value) }))
    case .patch(let id, let patch): return Self.record("patch", ["id": .string(id), "operations": patch.json])
    case .remove(let id): return Self.record("remove", ["id": .string(id)])
    case .move(let id, let index): return Self.record("move", ["id": .string(id), "index": .integer(Int64(index))])
    case .toggle(let id, let toggled): return Self.record("toggle", toggled.content.object(withID: id))
    case .clear: return Self.record("clear", [:])
    }
  }

  private static func record(_ type: String, _ payload: JSONObject) -> JSON {
    ["type": .string(type), "payload": .object(payload)]
  }
}

extension PayloadField<JSONObject> {
  fileprivate static func contentPatch(_ rules: ElementRules) -> PayloadField {
    PayloadField(PayloadField<ElementContent>.members(data: rules.patchSchema)) { reader, _ in
      _ = reader.content(rules)
      var patch = JSONObject()
      for name in ["title", "data"] { if let value = reader.value(name) { patch[name] = value } }
      return patch
    }
  }
}
