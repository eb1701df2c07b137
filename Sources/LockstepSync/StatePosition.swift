import LockstepHTTP

/// Where a response is in a user's history: the values of its fields `Cursor` and `Revision`.
package struct StatePosition: Sendable {
  package let cursor: String
  /// The number of transactions that the state includes.
  package let revision: Int

  package init(cursor: String, revision: Int) {
    self.cursor = cursor
    self.revision = revision
  }
}

extension HeaderFields {
  package mutating func append(_ position: StatePosition) {
    append(.cursor, position.cursor)
    append(.revision, String(position.revision))
  }
}
