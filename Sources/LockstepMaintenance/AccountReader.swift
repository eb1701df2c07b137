import LockstepCollections
import LockstepStore
import LockstepTime

/// Reads the accounts of a store for an operator's command. A server may use the store.
package struct AccountReader: Sendable {
  let store: ReadableStore
  let time: TimeSource

  package init(of store: StoreLocation, time: TimeSource = .system) throws {
    self.store = try ReadableStore(store)
    self.time = time
  }

  /// The next users after `last` in the order of their sign-ups; empty at the end. No transaction
  /// stays open.
  package func users(after last: UserID?) throws -> [UserListing] {
    try store.read { try UserListing.page(after: last, from: $0, at: time.now()) }
  }

  package func user(_ name: String) throws -> User {
    try store.read { connection in
      let users = UserRecords(connection: connection)
      let account =
        if let id = UserID(name) { try users.account(id) } else {
          try users.account(withKey: (try? EmailAddress(name))?.key ?? name)
        }
      guard let account else { throw MaintenanceError.noSuchUser(name) }
      return account.user
    }
  }
}
