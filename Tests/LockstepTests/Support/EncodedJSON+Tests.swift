import LockstepCollections
import LockstepJSON

extension EncodedJSON {
  /// A value of its text, as it is written.
  init(text: String) { self.init(JSON(trusting: Array(text.utf8))) }
}

extension CollectionReducer {
  /// As the built-in modules reduce.
  static let plainList = CollectionReducer.list { $0.apply($1) }
  static let plainMap = CollectionReducer.map { $0.apply($1) }

  /// The reducer of the kind that a mutation belongs to.
  static func plain(for mutation: CollectionMutation) -> CollectionReducer {
    if case .list = mutation { plainList } else { plainMap }
  }
}
