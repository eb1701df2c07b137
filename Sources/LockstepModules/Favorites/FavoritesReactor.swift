import LockstepCollections
import LockstepJSON
import LockstepReactor
import LockstepSync
import LockstepTime

/// Decides on actions for a user's favorites, a list in the user's own order.
package struct FavoritesReactor: Reactor {
  package static let collection = CollectionName("favorites")

  let quota: FavoritesQuota
  /// The time that changed elements get.
  let now: Timestamp

  package var initialState: ListState { ListState() }

  package func mutate(_ action: FavoritesAction, in state: ListState) -> Effect<ListMutation> {
    do {
      guard let mutation = try mutation(for: action, in: state) else { return .none }
      return .just(mutation)
    } catch {
      return .failure(error)
    }
  }

  package static func reduce(_ state: inout ListState, _ mutation: ListMutation) { state.apply(mutation) }

  /// The mutation of an action, or `nil` if it changes nothing.
  private func mutation(for action: FavoritesAction, in state: ListState) throws(Refusal) -> ListMutation? {
    switch action {
    case .add(let id, let content, let index): try put(id, content, at: index, in: state)
    case .update(let id, let patch): try update(id, by: patch, in: state)
    case .patch(let id, let patch): try update(id, by: patch, in: state)
    case .remove(let id): .removed(id: try existing(id, in: state).id.text)
    case .move(let id, let index): try move(id, to: index, in: state)
    case .toggle(let id, let content):
      state[id] == nil ? try put(id, content, at: nil, in: state) : .removed(id: id)
    case .clear: state.count == 0 ? nil : .cleared
    }
  }

  private func put(
    _ id: String,
    _ content: FavoriteContent,
    at index: Int?,
    in state: ListState
  ) throws(Refusal) -> ListMutation? {
    if let item = state[id] { return try replace(item, item.object, with: content, in: state) }
    let encoded = encode(id, content, addedAt: .string(now.description))
    guard state.count < quota.items else {
      throw .quotaExceeded("There are \(state.count) favorites, which is as many as a user may have.")
    }
    try checkRoom(for: encoded.encoded.count, in: state)
    return .inserted(id: id, item: encoded, index: min(index ?? state.count, state.count))
  }

  private func update(_ id: String, by patch: JSONObject, in state: ListState) throws(Refusal) -> ListMutation? {
    let item = try existing(id, in: state)
    let object = item.object
    let present = JSON.object(FavoriteContent(of: object).members)
    return try replace(
      item,
      object,
      with: content(of: present.mergePatched(with: .object(patch)), by: patch),
      in: state
    )
  }

  private func update(_ id: String, by patch: PatchDocument, in state: ListState) throws(Refusal) -> ListMutation? {
    let item = try existing(id, in: state)
    let object = item.object
    let patched = try patch.applied(to: .object(FavoriteContent(of: object).members))
    return try replace(item, object, with: content(of: patched), in: state)
  }

  /// The content that results from a patch. Names that a merge patch removes are checked too,
  /// because a misspelled one would be ignored.
  private func content(of patched: JSON, by patch: JSONObject = JSONObject()) throws(Refusal) -> FavoriteContent {
    var reader = PayloadReader(patched)
    let content = reader.favorite()
    let removed = patch.filter { $0.value == .null }
    for (name, _) in (patched.objectValue ?? JSONObject()) + removed where name != "title" && name != "data" {
      reader.add(name, "Only title and data can be changed.")
    }
    try reader.finish()
    return content
  }

  private func replace(
    _ item: ListItem,
    _ object: JSONObject,
    with content: FavoriteContent,
    in state: ListState
  ) throws(Refusal) -> ListMutation? {
    guard content != FavoriteContent(of: object) else { return nil }
    let encoded = encode(item.id.text, content, addedAt: object["addedAt"] ?? .string(now.description))
    try checkRoom(for: encoded.encoded.count - item.encoded.count, in: state)
    return .modified(id: item.id.text, item: encoded)
  }

  private func move(_ id: String, to index: Int, in state: ListState) throws(Refusal) -> ListMutation? {
    _ = try existing(id, in: state)
    let target = min(index, state.count - 1)
    return state.index(of: id) == target ? nil : .moved(id: id, to: target)
  }

  private func existing(_ id: String, in state: ListState) throws(Refusal) -> ListItem {
    guard let item = state[id] else { throw .notFound("There is no favorite with the id “\(id)”.") }
    return item
  }

  private func checkRoom(for bytes: Int, in state: ListState) throws(Refusal) {
    guard bytes <= 0 || state.bytes + bytes <= quota.bytes else {
      throw .quotaExceeded("The favorites would take more than the \(quota.bytes) bytes that a user may have.")
    }
  }

  private func encode(_ id: String, _ content: FavoriteContent, addedAt: JSON) -> EncodedJSON {
    var object = content.object(withID: id)
    object["addedAt"] = addedAt
    object["updatedAt"] = .string(now.description)
    return EncodedJSON(.object(object))
  }
}

extension FavoriteContent {
  /// The content of an element.
  package init(of item: ListItem) { self.init(of: item.object) }

  /// The content of an element.
  init(of object: JSONObject) {
    self.init(title: object["title"]?.stringValue, data: object["data"])
  }

  /// The content as members of an object, for patches.
  fileprivate var members: JSONObject {
    var members = JSONObject()
    if let title { members["title"] = .string(title) }
    if let data { members["data"] = data }
    return members
  }
}
