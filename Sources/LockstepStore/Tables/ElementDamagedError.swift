import LockstepCollections

/// An element in the store cannot be read by its module: it was changed by hand, the disk is damaged, or the
/// module reads its elements differently than before.
package struct ElementDamagedError: Error, CustomStringConvertible {
  let user: UserID
  package let table: String
  package let collection: CollectionName
  package let id: String

  /// The error as a finding of `lockstep check`.
  package var finding: String { "\(table): “\(id)” in \(collection) of user \(user) cannot be read" }

  package var description: String {
    "the element “\(id)” in \(collection) of user \(user) in the table \(table) cannot be read: the store is damaged, or "
      + "the module \(collection.module) has changed. `lockstep check` lists all damage."
  }
}
