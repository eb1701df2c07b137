import LockstepCollections
import LockstepJSON
import LockstepStore

extension ModuleSet {
  /// The same fixed modules, with declared collections as they are stored.
  package func replacing(
    _ content: DeclaredCollectionsTable.Content,
    make: (DeclaredCollection) -> UserModule
  ) -> ModuleSet {
    var declared: [ExactText: DeclaredModule] = [:]
    for stored in content.declared {
      // A collection that has not changed keeps its object, so that other parts keep what they made of it.
      if let known = self.declared[stored.name.exact], known.revision == stored.revision {
        declared[stored.name.exact] = known
      } else if let declaration = DeclaredCollection(stored) {
        declared[stored.name.exact] =
          DeclaredModule(declaration, stored.revision, make(declaration), isClosing: stored.isClosing)
      }
    }
    return replacing(declared: declared, deleted: content.deleted, revision: content.revision)
  }
}

extension DeclaredModule {
  /// The row of the collection in the store.
  var stored: StoredDeclaration {
    StoredDeclaration(
      name: declaration.name,
      declaration: declaration.json.encoded(),
      revision: revision,
      isClosing: isClosing
    )
  }
}

extension DeclaredCollection {
  /// Reads a stored declaration. A newer server may have written one that this server cannot read. Then
  /// users can read the collection, but only the administrator can write to it. Nil if the store is
  /// damaged.
  init?(_ stored: StoredDeclaration) {
    let json = JSON(trusting: stored.declaration)
    if let declaration = try? DeclaredCollection(json, named: stored.name) {
      self = declaration
      return
    }
    guard let kind = json["kind"]?.stringValue.flatMap(CollectionMutation.Kind.init(rawValue:)) else { return nil }
    self.init(name: stored.name, kind: kind, access: .readOnly)
  }
}
