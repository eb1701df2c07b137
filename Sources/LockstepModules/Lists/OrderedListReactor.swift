import LockstepCollections
import LockstepJSON
import LockstepTime

extension UserModule {
  /// A list that the user orders, whose elements keep these rules.
  static func ordered(_ name: String, _ rules: ElementRules, quota: CollectionQuota) -> UserModule {
    var module = list(
      name,
      of: OrderedElement.self,
      quota: quota,
      actions: OrderedListAction.cases(rules),
      verbs: OrderedListAction.verbs(rules),
      record: \.record,
      reactor: { OrderedListReactor(rules: rules, now: $0.now, budget: $0.budget) }
    )
    module.hasActionsRoute = false
    return module
  }
}

/// Decides on the actions of a list that the user orders.
struct OrderedListReactor: ModuleReactor {
  let rules: ElementRules
  let now: Timestamp
  var budget: WorkBudget?

  func mutate(_ action: OrderedListAction, in list: ListState) throws(Refusal) -> [ListMutation] {
    switch action {
    case .add(let id, let content, let index): try put(id, content, at: index, in: list)
    case .update(let id, let patch):
      try change(existing(id, in: list)) { content throws(Refusal) in
        let patched = JSON.object(content).mergePatched(with: .object(patch))
        return try self.content(of: patched, removing: patch.filter { $0.value.isNull }.map(\.name))
      }
    case .patch(let id, let patch):
      try change(existing(id, in: list)) { content throws(Refusal) in
        try self.content(of: patch.applied(to: .object(content), budget: budget))
      }
    case .remove(let id): [.removed(id: try checked(id, in: list))]
    case .move(let id, let index): try move(id, to: index, in: list)
    case .toggle(let id, let toggled): try toggle(id, toggled, in: list)
    case .clear: list.count == 0 ? [] : [.cleared]
    }
  }

  private func toggle(_ id: String, _ toggled: ToggledContent, in list: ListState) throws(Refusal) -> [ListMutation] {
    guard list[id] == nil else { return [.removed(id: id)] }
    if !toggled.faults.isEmpty { throw .invalid(toggled.faults) }
    return try put(id, toggled.content, at: nil, in: list)
  }

  private func put(
    _ id: String,
    _ content: ElementContent,
    at index: Int?,
    in list: ListState
  ) throws(Refusal) -> [ListMutation] {
    if let present = present(id, in: list) { return try change(present) { _ in content } }
    let now = now.description
    let new = OrderedElement(id: id, content: content, addedAt: now, updatedAt: now)
    return [.inserting(new, at: min(index ?? list.count, list.count))]
  }

  /// Replaces the content of an element. The same content changes nothing.
  private func change(
    _ element: OrderedElement,
    _ content: (JSONObject) throws(Refusal) -> ElementContent
  ) throws(Refusal) -> [ListMutation] {
    var changed = element
    changed.content = try content(element.content.object())
    guard changed.content != element.content else { return [] }
    changed.updatedAt = now.description
    return [.replacing(changed)]
  }

  /// The content after a patch. A patch may name only known members, even to remove them. Otherwise
  /// the server would ignore a misspelt name.
  private func content(of patched: JSON, removing names: [String] = []) throws(Refusal) -> ElementContent {
    var reader = PayloadReader(patched)
    let content = reader.content(rules)
    reader.add(rules.faults(of: content, budget))
    for name in (patched.objectValue?.names ?? []) + names where name != "title" && name != "data" {
      reader.add(name, "Only title and data can be changed.")
    }
    try reader.finish()
    return content
  }

  private func move(_ id: String, to index: Int, in list: ListState) throws(Refusal) -> [ListMutation] {
    let id = try checked(id, in: list)
    let target = min(index, list.count - 1)
    return list.index(of: id) == target ? [] : [.moved(id: id, to: target)]
  }

  private func existing(_ id: String, in list: ListState) throws(Refusal) -> OrderedElement {
    guard let element = present(id, in: list) else { throw missing(id) }
    return element
  }

  /// The id, if the list has an element with it. Does not decode the element.
  private func checked(_ id: String, in list: ListState) throws(Refusal) -> String {
    guard list[id] != nil else { throw missing(id) }
    return id
  }

  private func missing(_ id: String) -> Refusal { .notFound("There is no \(rules.noun) with the id “\(id)”.") }

  /// Decodes an element, so that it can be changed and compared.
  private func present(_ id: String, in list: ListState) -> OrderedElement? {
    guard let item = list[id] else { return nil }
    budget?.spend(decodedBytes: item.text.count)
    return OrderedElement(item.object)
  }
}
