import LockstepJSON
import Lockstep

/// An element of the shopping list.
struct ShoppingItem: ListElement, Equatable {
  let id: String
  var name: String
  var amount = 1
  var isBought = false
  let addedAt: Timestamp

  static let format = ValueFormat<ShoppingItem>(
    .member("id", .text, \.id),
    .member("name", .text, \.name),
    .member("amount", .count, \.amount),
    .member("isBought", .flag, \.isBought),
    .member("addedAt", .time.readOnly, \.addedAt)
  )
}

extension ShoppingItem {
  init?(_ object: JSONObject) {
    guard let id = object["id"]?.stringValue, let name = object["name"]?.stringValue,
      let amount = object["amount"]?.intValue, let isBought = object["isBought"]?.boolValue,
      let addedAt = object["addedAt"]?.stringValue.flatMap({ Timestamp($0) })
    else { return nil }
    self.init(id: id, name: name, amount: amount, isBought: isBought, addedAt: addedAt)
  }
}

/// The actions that a client can send. `SyncedList` of the Swift client sends all of them except
/// `clearBought`.
enum ShoppingAction: Sendable {
  /// Replaces the item with this id, or adds a new item at an index or at the end.
  case add(id: String, name: String, amount: Int?, isBought: Bool?, index: Int?)
  /// Changes the members that are not nil.
  case update(id: String, name: String?, amount: Int?, isBought: Bool?)
  case move(id: String, index: Int)
  case remove(id: String)
  case clearBought
}

/// Decides on the actions of a shopping list. Two items of a list never have the same name.
struct ShoppingReactor: ModuleReactor {
  /// The time of the transaction.
  let now: Timestamp

  func mutate(_ action: ShoppingAction, in list: ListState) throws(Refusal) -> [ListMutation] {
    switch action {
    case .add(let id, let name, let amount, let isBought, let index):
      let old: ShoppingItem? = list.element(id)
      let new = ShoppingItem(
        id: id,
        name: name,
        amount: amount ?? 1,
        isBought: isBought ?? false,
        addedAt: old?.addedAt ?? now
      )
      return try replace(old, by: new, at: index, in: list)
    case .update(let id, let name, let amount, let isBought):
      let old = try existing(id, in: list)
      var new = old
      new.name = name ?? new.name
      new.amount = amount ?? new.amount
      new.isBought = isBought ?? new.isBought
      return try replace(old, by: new, in: list)
    case .move(let id, let index):
      _ = try existing(id, in: list)
      let target = min(index, list.count - 1)
      return list.index(of: id) == target ? [] : [.moved(id: id, to: target)]
    case .remove(let id): return [.removed(id: try existing(id, in: list).id)]
    case .clearBought:
      return list.elements(as: ShoppingItem.self).filter(\.isBought).map { .removed(id: $0.id) }
    }
  }

  /// Returns the mutation that adds an item at an index or at the end, or replaces an item at its
  /// place. If nothing differs, returns no mutation.
  private func replace(
    _ old: ShoppingItem?,
    by new: ShoppingItem,
    at index: Int? = nil,
    in list: ListState
  ) throws(Refusal) -> [ListMutation] {
    let others = list.elements(as: ShoppingItem.self).filter { $0.id != new.id }
    if let other = others.first(where: { $0.name.lowercased() == new.name.lowercased() }) {
      throw .conflict("“\(other.name)” is already on the list, with the id “\(other.id)”.")
    }
    guard old != new else { return [] }
    return [old == nil ? .inserting(new, at: min(index ?? list.count, list.count)) : .replacing(new)]
  }

  private func existing(_ id: String, in list: ListState) throws(Refusal) -> ShoppingItem {
    guard let item: ShoppingItem = list.element(id) else { throw .notFound("No item has the id “\(id)”.") }
    return item
  }
}

extension UserModule {
  /// The module `shopping`, at `/v1/shopping`.
  static var shopping: UserModule {
    .list(
      "shopping",
      table: ShoppingTable(),
      // `replace` compares a new item with every item of the list, so the list must stay short.
      quota: CollectionQuota(elements: 500),
      actions: [
        ActionCase(
          "add",
          .name("id"),
          .text("name", bytes: 1...200),
          .optionalWhole("amount", 1...999),
          .optionalFlag("isBought"),
          .optionalIndex("index")
        ) { .add(id: $0, name: $1, amount: $2, isBought: $3, index: $4) },
        ActionCase(
          "update",
          .name("id"),
          .optionalText("name", bytes: 1...200),
          .optionalWhole("amount", 1...999),
          .optionalFlag("isBought")
        ) { .update(id: $0, name: $1, amount: $2, isBought: $3) },
        ActionCase("move", .name("id"), .index("index")) { .move(id: $0, index: $1) },
        ActionCase("remove", .name("id")) { .remove(id: $0) },
        ActionCase("clearBought") { .clearBought },
      ],
      verbs: [.put: "add", .patch: "update", .delete: "remove"]
    ) { ShoppingReactor(now: $0.now) }
  }
}
