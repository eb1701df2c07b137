import LockstepAccounts
import LockstepAdministration
import LockstepRoutes

/// Adds users of another system to a store.
package enum UserImport {
  /// How many users a transaction adds. A server's writes wait meanwhile.
  static let batch = 200

  /// Adds the users whose address no user has. Returns the places of the others. `progress` gets
  /// the number of users that are done.
  ///
  /// An import that was interrupted can be repeated.
  package static func add(
    _ users: [ImportedUser],
    over channel: AdministrationChannel,
    progress: (Int) -> Void
  ) throws -> [Int] {
    var taken: [Int] = []
    for start in stride(from: 0, to: users.count, by: batch) {
      let end = min(start + batch, users.count)
      let reply = try channel.send(.post, OperatorRoutes.imports, .array(users[start..<end].map(\.json)))
      taken += (reply["taken"]?.arrayValue ?? []).compactMap(\.intValue).map { start + $0 }
      progress(end)
    }
    return taken
  }
}
