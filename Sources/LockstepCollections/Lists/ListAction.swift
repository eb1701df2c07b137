import LockstepJSON
import LockstepTime

/// A standard action with its payload.
enum ListAction: Sendable {
  case add(id: String, ElementContent, index: Int?)
  /// A merge patch (RFC 7396).
  case update(id: String, JSONObject)
  /// A JSON patch (RFC 6902).
  case patch(id: String, PatchDocument)
  case remove(id: String)
  case move(id: String, index: Int)
  case toggle(id: String, ElementContent)
  case clear
}

// MARK: - Reading

extension ListAction {
  /// The actions for the catalogue.
  static func cases(_ actions: [StandardAction], _ form: any ElementForm) -> [ActionCase<ListAction>] {
    StandardAction.allCases.filter(actions.contains).map { $0.actionCase(form) }
  }

  /// The verbs that perform the actions.
  static func verbs(_ actions: [StandardAction]) -> [ElementVerb: VerbAction<ListAction>] {
    var verbs: [ElementVerb: VerbAction<ListAction>] = [:]
    for action in actions {
      switch action {
      case .add: verbs[.put] = "add"
      case .update:
        verbs[.patch] = "update"
        let patch = ActionCase("patch", .name("id"), .jsonPatch("operations")) { ListAction.patch(id: $0, $1) }
        verbs[.jsonPatch] = .unlisted(patch)
      case .remove: verbs[.delete] = "remove"
      case .move: verbs[.move] = "move"
      case .toggle, .clear: break
      }
    }
    return verbs
  }
}

extension StandardAction {
  fileprivate func actionCase(_ form: any ElementForm) -> ActionCase<ListAction> {
    switch self {
    case .add:
      let content = PayloadField(form.payload(of: self)) { reader, _ in
        let content = form.content(&reader)
        reader.add(content.faults)
        return content
      }
      return ActionCase(rawValue, .name("id"), content, .optionalIndex("index")) { .add(id: $0, $1, index: $2) }
    case .update: return ActionCase(rawValue, .name("id"), .patch(form)) { .update(id: $0, $1) }
    case .remove: return ActionCase(rawValue, .name("id")) { .remove(id: $0) }
    case .move: return ActionCase(rawValue, .name("id"), .index("index")) { .move(id: $0, index: $1) }
    case .toggle:
      let content = PayloadField(form.payload(of: self)) { reader, _ in form.content(&reader) }
      return ActionCase(rawValue, .name("id"), content) { .toggle(id: $0, $1) }
    case .clear: return ActionCase(rawValue) { .clear }
    }
  }
}

extension PayloadField<JSONObject> {
  /// The members of a merge patch.
  static func patch(_ form: any ElementForm) -> PayloadField {
    PayloadField(form.payload(of: .update)) { reader, _ in form.patch(&reader) }
  }
}

// MARK: - Deciding

extension ListAction {
  /// The change of a list that the action asks for.
  func change(
    of list: ListState,
    _ form: any ElementForm,
    _ context: ActionContext
  ) throws(Refusal) -> ListChange {
    switch self {
    case .add(let id, let content, let index):
      let old = list[id].map { Self.decoded($0, context) }
      let element = form.members.element(id, content.members, old: old, now: context.now)
      if let old { return .replace(id: id, element, old: old) }
      return .insert(id: id, element, at: min(index ?? list.count, list.count))
    case .update(let id, let patch):
      let removed = patch.filter { $0.value.isNull }.map(\.name)
      return try Self.replace(id, in: list, form, context, removed: removed) { $0.mergePatched(with: .object(patch)) }
    case .patch(let id, let patch):
      return try Self.replace(id, in: list, form, context) { content throws(Refusal) in
        try patch.applied(to: content, budget: context.budget)
      }
    case .remove(let id):
      guard list[id] != nil else { throw form.missing(id) }
      return .remove(id: id)
    case .move(let id, let index):
      guard list[id] != nil else { throw form.missing(id) }
      return .move(id: id, to: min(index, list.count - 1))
    case .toggle(let id, let content):
      if list[id] != nil { return .remove(id: id) }
      if !content.faults.isEmpty { throw .invalid(content.faults) }
      let element = form.members.element(id, content.members, old: nil, now: context.now)
      return .insert(id: id, element, at: list.count)
    case .clear: return .clear
    }
  }

  /// Replaces an element by its patched one.
  private static func replace(
    _ id: String,
    in list: ListState,
    _ form: any ElementForm,
    _ context: ActionContext,
    removed: [String] = [],
    _ patched: (JSON) throws(Refusal) -> JSON
  ) throws(Refusal) -> ListChange {
    guard let item = list[id] else { throw form.missing(id) }
    let old = decoded(item, context)
    let result = try patched(.object(form.members.content(of: old)))
    let content = try form.content(ofPatched: result, removed: removed, context.budget)
    return .replace(id: id, form.members.element(id, content, old: old, now: context.now), old: old)
  }

  /// The element, to be changed and compared.
  private static func decoded(_ item: ListItem, _ context: ActionContext) -> JSONObject {
    context.budget?.spend(decodedBytes: item.text.count)
    return item.object
  }
}

extension ListChange {
  /// The mutation of the list; nil if nothing changes.
  func mutation(of list: ListState, _ members: ElementMembers, now: Timestamp) -> ListMutation? {
    switch self {
    case .insert(let id, let object, let index):
      .inserted(id: id, item: EncodedJSON(.object(object)), index: index)
    case .replace(let id, let object, let old):
      members.changed(object, from: old, now: now).map { .modified(id: id, item: EncodedJSON(.object($0))) }
    case .remove(let id): .removed(id: id)
    case .move(let id, let index): list.index(of: id) == index ? nil : .moved(id: id, to: index)
    case .clear: list.count == 0 ? nil : .cleared
    }
  }

  /// The element that the change inserts or replaces, and the present one.
  var proposal: (object: JSONObject, old: JSONObject?)? {
    switch self {
    case .insert(_, let object, _): (object, nil)
    case .replace(_, let object, let old): (object, old)
    case .remove, .move, .clear: nil
    }
  }
}

// MARK: - The journal

extension ListAction {
  /// The action as the journal shows it, without members that the server ignores.
  var record: JSON {
    switch self {
    case .add(let id, let content, let index):
      var payload = Self.members(id, content.members)
      if let index { payload["index"] = .integer(Int64(index)) }
      return Self.record(.add, payload)
    case .update(let id, let patch): return Self.record(.update, Self.members(id, patch))
    case .patch(let id, let patch): return ["type": "patch", "payload": ["id": .string(id), "operations": patch.json]]
    case .remove(let id): return Self.record(.remove, ["id": .string(id)])
    case .move(let id, let index): return Self.record(.move, ["id": .string(id), "index": .integer(Int64(index))])
    case .toggle(let id, let content): return Self.record(.toggle, Self.members(id, content.members))
    case .clear: return Self.record(.clear, [:])
    }
  }

  private static func members(_ id: String, _ members: JSONObject) -> JSONObject {
    var object = JSONObject()
    object.reserveCapacity(members.count + 2)
    object.append(.string(id), named: "id")
    for (name, value) in members { object.append(value, named: name) }
    return object
  }

  private static func record(_ type: StandardAction, _ payload: JSONObject) -> JSON {
    ["type": .string(type.rawValue), "payload": .object(payload)]
  }
}
