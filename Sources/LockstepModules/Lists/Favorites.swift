import LockstepCollections

extension UserModule {
  /// `/v1/favorites`: a list that the user orders.
  package static func favorites(
    named name: String = "favorites",
    quota: CollectionQuota = CollectionQuota()
  ) -> UserModule {
    var module = ordered(name, ElementRules(noun: "favorite", dataBytes: 16 * 1024), quota: quota)
    module.noun = ElementNoun(one: "Favorite", many: "Favorites")
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
