import Lockstep

/// An element of the shopping list.
struct ShoppingItem: Codable, Identifiable, Equatable, Sendable {
  let id: String
  var name: String
  var amount = 1
  var isBought = false
  var price: DecimalNumber?
  var due: Timestamp?
  var addedAt: Timestamp?
}

/// The module `shopping`, at `/v1/shopping`. Two items of a list never have the same name.
struct Shopping: ListModule {
  typealias Element = ShoppingItem

  enum Action: Sendable {
    /// A client adds, changes, moves or removes items.
    case edit(List<ShoppingItem>.Mutation)
    case clearBought
  }

  static let name = "shopping"
  // `decide` compares a new item with every item of the list, so the list must stay short.
  static let quota = CollectionQuota(elements: 500)

  static let rules: [ElementRule] = [
    .bytes("name", 1...200),
    .range("amount", 1...999),
    .default("amount", 1),
    .default("isBought", false),
    .range("price", 0...100_000),
    .added("addedAt"),
  ]

  static let actions = Actions(edits: Action.edit, ActionCase("clearBought") { .clearBought })

  func decide(_ action: Action, _ list: List<ShoppingItem>) throws(Refusal) -> [Mutation] {
    switch action {
    case .edit(let mutation):
      if let item = mutation.element { try refuseSecond(item, in: list) }
      return [mutation]
    case .clearBought: return list.filter(\.isBought).map { .remove(id: $0.id) }
    }
  }

  private func refuseSecond(_ item: ShoppingItem, in list: List<ShoppingItem>) throws(Refusal) {
    let name = item.name.lowercased()
    if let other = list.first(where: { $0.id != item.id && $0.name.lowercased() == name }) {
      throw .conflict("“\(other.name)” is already on the list, with the id “\(other.id)”.")
    }
  }
}
