import LockstepCollections

/// The contents of a client's file: all of them, or the changes since an earlier reading.
struct StoreContents {
  /// The number of changes that the file has had.
  var change = 0
  var owner = StoreOwner()
  var position: ChangesDocument.Position?
  /// The names of all collections.
  var names: Set<CollectionName> = []
  /// The collections that were written as a whole.
  var collections: [CollectionName: CollectionState] = [:]
  /// The changes of collections after that, in order.
  var changesets: [ChangesDocument.Changeset] = []
  /// The highest number of a write so far.
  var lastNumber: Int64 = 0
  /// The numbers of all writes.
  var numbers: Set<Int64> = []
  /// The writes that were added or changed, in order.
  var entries: [OutboxEntry] = []
  /// How writes of other processes than the sending one have ended.
  var outcomes: [(number: Int64, outcome: WriteOutcome)] = []
  /// The connection of the process that follows the server.
  var connection: ConnectionState?
}

/// The user whose state a file has.
struct StoreOwner: Equatable {
  /// Nil before the first login.
  var user: String?
  /// The collections that the client follows, in order; nil for all.
  var followed: [String]?
  /// Counts the logins and logouts, so that another process notices one of the same user.
  var logins = 0
  /// The user has logged out, and no other one has logged in.
  var isLoggedOut = false
}

/// A change of a client's file.
struct StoreChange {
  /// The collections that are written as a whole; nil for a removed one.
  var collections: [CollectionName: CollectionState?] = [:]
  /// The changes of other collections.
  var changesets: [ChangesDocument.Changeset] = []
  /// Set if the position has changed.
  var position: ChangesDocument.Position??
  /// Set if the owner has changed.
  var owner: StoreOwner?
  /// The writes that were added or changed; nil for a removed one.
  var writes: [Int64: OutboxEntry?] = [:]
  /// The outcomes of writes of other processes.
  var outcomes: [Int64: WriteOutcome] = [:]
  /// The connection, if no other process than this one follows the server.
  var connection: (state: ConnectionState, process: String)?

  var isEmpty: Bool {
    collections.isEmpty && changesets.isEmpty && position == nil && owner == nil && writes.isEmpty && outcomes.isEmpty
      && connection == nil
  }
}
