import LockstepCollections
import LockstepHTTP
import LockstepMiddleware
import LockstepStore
import LockstepSync

/// Makes sure that a request is answered from a state that is new enough, on whatever node of a fleet.
///
/// A state in memory may lack what another node has committed a few milliseconds ago. A request that sends
/// a cursor gets a state that is at least as new. A request with `Prefer: consistency=strict` gets the
/// newest one.
package final class Freshness: Sendable {
  private let store: String
  private let cache: StateCache
  private let registry: RegisteredLedger
  private let refresher: StateRefresher
  /// The time for which this node may respond from its memory.
  let lease: NodeLease
  /// Whether each read is strict.
  private let isStrict: Bool

  package init(
    store: String,
    cache: StateCache,
    registry: RegisteredLedger,
    refresher: StateRefresher,
    isStrict: Bool,
    lease: NodeLease
  ) {
    (self.store, self.cache, self.registry, self.refresher) = (store, cache, registry, refresher)
    self.isStrict = isStrict
    self.lease = lease
  }

  enum Need {
    case none
    /// A cursor of the request is newer than the memory.
    case cursor
    /// The newest state.
    case strict
  }

  func need(of request: Request, _ user: UserID) -> Need {
    let head = request.head
    if isStrict, head.method == .get || head.method == .head { return .strict }
    if head.preferences.contains(where: { $0.name == "consistency" && $0.value.lowercased() == "strict" }) {
      return .strict
    }
    if let cursor = head[.cursor], isAhead(cursor, of: user) { return .cursor }
    if let id = head[.lastEventID], isAhead(id, of: user) { return .cursor }
    for field in [FieldName.ifMatch, .ifNoneMatch] where head.has(field) {
      for tag in head.list(field) where isAhead(Self.opaque(tag), of: user) { return .cursor }
    }
    if !head.queryBytes.isEmpty, let since = try? request.query.text("since"), isAhead(since, of: user) {
      return .cursor
    }
    return .none
  }

  /// Returns when the memory has everything of the user that was committed before this call.
  func refresh(_ user: UserID) async throws { try await refresher.refresh(user) }

  private func isAhead(_ text: String, of user: UserID) -> Bool {
    guard let cursor = Cursor(Cursor.plainTag(text)), cursor.store == store else { return false }
    // Each node gives its revisions another era, so only the numbers are compared.
    if cursor.registered.number > registry.revision.number { return true }
    // A load that already runs may be older than the cursor.
    guard let known = cache.revision(orRepeatingLoadsOf: user) else { return false }
    return cursor.revision.number > known.number
  }

  /// The text of an entity tag.
  private static func opaque(_ tag: String) -> String {
    let tag = tag.hasPrefix("W/") ? tag.dropFirst(2) : tag[...]
    return tag.count >= 2 && tag.hasPrefix("\"") && tag.hasSuffix("\"")
      ? String(tag.dropFirst().dropLast()) : String(tag)
  }
}
