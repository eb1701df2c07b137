import LockstepCollections
import LockstepJSON

extension EncodedJSON {
  /// A value of its JSON text.
  init(text: String) { self.init(JSON(trusting: Array(text.utf8))) }
}

extension CollectionReducer {
  /// Reduces as the built-in modules do.
  static let plainList = CollectionReducer.list { $0.apply($1) }
  static let plainMap = CollectionReducer.map { $0.apply($1) }

  /// The reducer for the kind of a mutation.
  static func plain(for mutation: CollectionMutation) -> CollectionReducer {
    if case .list = mutation { plainList } else { plainMap }
  }
}
