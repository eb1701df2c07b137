import LockstepCollections

extension UserModule {
  /// `/v1/favorites`: a list that the user orders.
  package static func favorites(
    named name: String = "favorites",
    quota: CollectionQuota = CollectionQuota()
  ) -> UserModule {
    var module = ordered(name, ElementRules(noun: "favorite", dataBytes: 16 * 1024), quota: quota)
    module.noun = ElementNoun(one: "Favorite", many: "Favorites")
    return module
  }
}
