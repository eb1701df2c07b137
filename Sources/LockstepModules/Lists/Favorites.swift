import LockstepCollections

extension UserModule {
  /// `/v1/favorites`: a list that the user orders.
  package static func favorites(
    named name: String = "favorites",
    quota: CollectionQuota = CollectionQuota()
  ) -> UserModule {
    var module = list(name, PlainForm("favorite", .titleAndData(upTo: 16 * 1024)), quota: quota)
    module.noun = ElementNoun(one: "Favorite", many: "Favorites")
    return module
  }
}

extension [ShapeMember] {
  /// The members of a favorite, and of an element of a declared list.
  static func titleAndData(upTo dataBytes: Int) -> [ShapeMember] {
    [.text("title", upTo: 512), .json("data", upTo: dataBytes), .added("addedAt"), .changed("updatedAt")]
  }
}
