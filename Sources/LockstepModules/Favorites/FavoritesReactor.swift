import LockstepCollections
import LockstepJSON
import LockstepTime

extension UserModule {
  /// `/v1/favorites`: a list that the user orders.
  package static func favorites(
    named name: String = "favorites",
    quota: CollectionQuota = CollectionQuota()
  ) -> UserModule {
    var module = list(
      name,
      of: Favorite.self,
      quota: quota,
      actions: FavoritesAction.cases,
      verbs: FavoritesAction.verbs,
      record: \.record,
      reactor: { FavoritesReactor(now: $0.now) }
    )
    module.noun = ElementNoun(one: "Favorite", many: "Favorites")
    module.hasActionsRoute = false
    module.storage = TableLayout(
      "favorites",
      key: "id",
      content: .members([
        .text("title"), .json("data"), .text("addedAt", column: "added_at"), .text("updatedAt", column: "updated_at"),
      ])
    )
    return module
  }
}

struct FavoritesReactor: ModuleReactor {
  let now: Timestamp

  func mutate(_ action: FavoritesAction, in list: ListState) throws(Refusal) -> [ListMutation] {
    switch action {
    case .add(let id, let content, let index): try put(id, content, at: index, in: list)
    case .update(let id, let patch):
      try change(existing(id, in: list)) { content throws(Refusal) in
        let patched = JSON.object(content).mergePatched(with: .object(patch))
        return try Self.content(of: patched, removing: patch.filter { $0.value.isNull }.map(\.name))
      }
    case .patch(let id, let patch):
      try change(existing(id, in: list)) { content throws(Refusal) in
        try Self.content(of: patch.applied(to: .object(content)))
      }
    case .remove(let id): [.removed(id: try existing(id, in: list).id)]
    case .move(let id, let index): try move(id, to: index, in: list)
    case .toggle(let id, let content):
      list[id] == nil ? try put(id, content, at: nil, in: list) : [.removed(id: id)]
    case .clear: list.count == 0 ? [] : [.cleared]
    }
  }

  private func put(
    _ id: String,
    _ content: FavoriteContent,
    at index: Int?,
    in list: ListState
  ) throws(Refusal) -> [ListMutation] {
    if let present: Favorite = list.element(id) { return try change(present) { _ in content } }
    let now = now.description
    let new = Favorite(id: id, content: content, addedAt: now, updatedAt: now)
    return [.inserting(new, at: min(index ?? list.count, list.count))]
  }

  /// Replaces the content of an element. The same content changes nothing.
  private func change(
    _ favorite: Favorite,
    _ content: (JSONObject) throws(Refusal) -> FavoriteContent
  ) throws(Refusal) -> [ListMutation] {
    var changed = favorite
    changed.content = try content(favorite.content.object())
    guard changed.content != favorite.content else { return [] }
    changed.updatedAt = now.description
    return [.replacing(changed)]
  }

  /// The content after a patch. A patch may name only known members, even to remove them. Otherwise
  /// the server would ignore a misspelt name.
  private static func content(of patched: JSON, removing names: [String] = []) throws(Refusal) -> FavoriteContent {
    var reader = PayloadReader(patched)
    let content = reader.favorite()
    for name in (patched.objectValue?.names ?? []) + names where name != "title" && name != "data" {
      reader.add(name, "Only title and data can be changed.")
    }
    try reader.finish()
    return content
  }

  private func move(_ id: String, to index: Int, in list: ListState) throws(Refusal) -> [ListMutation] {
    _ = try existing(id, in: list)
    let target = min(index, list.count - 1)
    return list.index(of: id) == target ? [] : [.moved(id: id, to: target)]
  }

  private func existing(_ id: String, in list: ListState) throws(Refusal) -> Favorite {
    guard let favorite: Favorite = list.element(id) else {
      throw .notFound("There is no favorite with the id “\(id)”.")
    }
    return favorite
  }
}
