import LockstepCollections
import LockstepHTTP
import LockstepJSON
import LockstepMiddleware
import LockstepModules
import LockstepSync

/// A condition of a write: the request's own preconditions, or the `ifMatch` of one action.
struct WriteCondition: Sendable {
  /// The index of the action; nil for the request.
  let action: Int?
  /// Nil: the user's whole state.
  let resource: StateResource?
  let preconditions: Preconditions

  /// Tags that are cursors of the user's state. A resource meets such a cursor if it has not changed
  /// since. The rest of the cursor, such as the digest of a page, does not matter here.
  func cursors(of store: String, _ registered: RegisteredDefaults) -> [Cursor] {
    guard resource != nil else { return [] }
    return preconditions.requiredTags.prefix(Self.mostCursors).compactMap { Cursor($0) }.filter {
      $0.store == store && registered.knows($0.registered)
    }
  }

  private static let mostCursors = 8

  /// The problem if the state before the write does not meet the condition. `points` are those
  /// cursors that are in the user's history.
  func refusal(in view: StateView, _ points: [PastPoint]) -> Problem? {
    let isUnchanged =
      if let resource {
        points.contains { resource.isUnchanged(since: $0, in: view) }
      } else {
        preconditions.requiredTags.contains { Cursor($0)?.isOfState(in: view) ?? false }
      }
    guard var problem = preconditions.refusal(of: resource, in: view, isUnchanged: isUnchanged) else { return nil }
    if let action {
      problem.detail =
        "The resource of action \(action), counted from 0, has changed since the cursor in its `ifMatch`. `current` is "
        + "the resource now, or null if it does not exist, and `cursor` is its ETag. Nothing was changed."
      problem.members.append(("failed", .integer(Int64(action))))
    }
    return problem
  }
}

extension Cursor {
  /// Whether the user's whole state is still as it was at this cursor.
  fileprivate func isOfState(in view: StateView) -> Bool {
    var cursor = self
    cursor.detail = nil
    return cursor == view.cursor
  }
}

/// A cursor of a user's history.
struct PastPoint: Sendable {
  let cursor: Cursor
  /// Whether the resource existed then.
  let hadResource: Bool
}

extension StateResource {
  /// Whether a resource has changed since a cursor.
  private enum Comparison {
    case unchanged
    case changed
    /// The resource does not exist. So it is unchanged if it did not exist then.
    case missing
  }

  fileprivate func isUnchanged(since point: PastPoint, in view: StateView) -> Bool {
    switch comparison(since: point.cursor, in: view) {
    case .unchanged: true
    case .changed: false
    // If the collection's past ended since then, the resource of that time is not known any more.
    case .missing: !point.hadResource && end(in: view) <= point.cursor.revision
    }
  }

  private func end(in view: StateView) -> Revision {
    guard case .collection(let name) = extent else { return .none }
    return view.state.ends[name] ?? .none
  }

  private func comparison(since cursor: Cursor, in view: StateView) -> Comparison {
    func compared(_ revision: Revision?, in collection: Revision) -> Comparison {
      guard let revision = revision ?? (collection <= cursor.revision ? collection : nil) else { return .missing }
      return revision <= cursor.revision ? .unchanged : .changed
    }
    switch self {
    case .list(let query):
      let revision = view.state.list(query.collection).revision
      return compared(revision, in: revision)
    case .element(let name, let id):
      let list = view.state.list(name)
      return compared(list[id]?.revision, in: list.revision)
    case .map(let name, _), .object(let name, _):
      let revision = view.state.map(name).revision
      return compared(revision, in: revision)
    case .entry(let name, let key):
      let map = view.state.map(name)
      return compared(map[key]?.revision, in: map.revision)
    case .suite(let name, _):
      let own = view.state.map(Suite.collection(name))
      let shown = view.shownRevision(of: name, behind: own.values)
      return own.revision <= cursor.revision && shown <= cursor.registered ? .unchanged : .changed
    case .value(let suite, let key):
      let own = view.state.map(Suite.collection(suite))
      if own[key] == nil {
        let now = view.registered.value(of: key, in: suite, at: view.registeredRevision)
        let then = view.registered.value(of: key, in: suite, at: cursor.registered)
        guard now?.revision == then?.revision else { return .changed }
      }
      return compared(own[key]?.revision, in: own.revision)
    case .suites:
      let revision = view.state.collections(of: "defaults").map(\.state.revision).max() ?? .none
      return compared(revision, in: revision)
    }
  }

  /// Whether the user's state has the element, the entry or the user's own value.
  fileprivate func exists(in state: UserState) -> Bool {
    switch self {
    case .element(let name, let id): state.list(name)[id] != nil
    case .entry(let name, let key): state.map(name)[key] != nil
    case .value(let suite, let key): state.map(Suite.collection(suite))[key] != nil
    case .list, .map, .object, .suite, .suites: true
    }
  }

  /// The cursor as a point of the user's history, if that is known from memory.
  fileprivate func point(at cursor: Cursor, in cached: CachedState, _ view: StateView) -> FoundPoint {
    switch comparison(since: cursor, in: view) {
    case .changed: return .none
    case .unchanged:
      guard cached.knows(cursor.revision) else { return .stored }
      return .point(PastPoint(cursor: cursor, hadResource: exists(in: view.state)))
    case .missing:
      guard let past = cached.past(at: cursor.revision) else { return .stored }
      return .point(PastPoint(cursor: cursor, hadResource: exists(in: past)))
    }
  }

}

/// Past states of a user, each read from the store once.
struct PastStates {
  /// A request may name a cursor for each action, but each one takes a read of the history.
  private static let most = 16

  let reader: StateReader
  let user: UserID
  /// See `LiveSession.networkShare`.
  let network: Int?
  private var states: [ExactText: UserState?] = [:]

  init(reader: StateReader, user: UserID, network: Int?) {
    (self.reader, self.user, self.network) = (reader, user, network)
  }

  /// Nil if the history lacks the revision, or if too many states were read already.
  mutating func state(at revision: Revision, _ extent: StateHistory.Extent) async throws -> UserState? {
    let name = ExactText("\(revision) \(extent)")
    if let known = states[name] { return known }
    guard states.count < Self.most else { return nil }
    let state = try await reader.state(of: user, from: network, at: revision, extent)
    states[name] = state
    return state
  }

  /// A resource as it was at a cursor.
  mutating func view(of resource: StateResource, at cursor: Cursor) async throws -> StateView? {
    guard let state = try await state(at: cursor.revision, resource.extent) else { return nil }
    return StateView(store: reader.store, state: state, registered: reader.registry.current, at: cursor.registered)
  }
}

private enum FoundPoint {
  case point(PastPoint)
  /// The cursor is of no use: the resource has changed since.
  case none
  /// Only the store knows.
  case stored
}

extension StateReader {
  /// The cursors of each condition that are in the user's history. If the states in memory tell, the
  /// result is immediate. Otherwise, the work reads them from the store.
  func points(of conditions: [WriteCondition], of user: UserID, from network: Int?) -> PastPoints {
    let registered = registry.current
    let cursors = conditions.map { $0.cursors(of: store, registered) }
    guard cursors.contains(where: { !$0.isEmpty }) else { return .known(conditions.map { _ in [] }) }
    if let cached = cache.state(of: user), let known = points(conditions, cursors, cached, registered) {
      return .known(known)
    }
    return .stored { [self] in
      let cached = try await cache.load(user, from: network)
      let view = StateView(store: store, LedgerView(state: cached.state, registered: registered)).forManyConditions
      var past = PastStates(reader: self, user: user, network: network)
      var points: [[PastPoint]] = []
      for (condition, cursors) in zip(conditions, cursors) {
        var found: [PastPoint] = []
        for cursor in cursors {
          guard let resource = condition.resource else { continue }
          switch resource.point(at: cursor, in: cached, view) {
          case .point(let point): found.append(point)
          case .none: break
          case .stored:
            guard let state = try await past.state(at: cursor.revision, resource.extent) else { break }
            found.append(PastPoint(cursor: cursor, hadResource: resource.exists(in: state)))
          }
        }
        points.append(found)
      }
      return points
    }
  }

  /// The cursors of a condition that are in the user's history, up to a past state. The state must be in the
  /// history too.
  func points(
    of condition: WriteCondition,
    upTo view: StateView,
    of user: UserID,
    from network: Int?
  ) async throws -> [PastPoint] {
    guard let resource = condition.resource else { return [] }
    // A later cursor tells nothing about this state.
    let cursors = condition.cursors(of: store, view.registered).filter {
      $0.revision <= view.state.revision && $0.registered <= view.registeredRevision
    }
    if cursors.isEmpty { return [] }
    let cached = try await cache.load(user, from: network)
    var past = PastStates(reader: self, user: user, network: network)
    var points: [PastPoint] = []
    for cursor in cursors {
      switch resource.point(at: cursor, in: cached, view) {
      case .point(let point): points.append(point)
      case .none: break
      case .stored:
        guard let state = try await past.state(at: cursor.revision, resource.extent) else { continue }
        points.append(PastPoint(cursor: cursor, hadResource: resource.exists(in: state)))
      }
    }
    return points
  }

  private func points(
    _ conditions: [WriteCondition],
    _ cursors: [[Cursor]],
    _ cached: CachedState,
    _ registered: RegisteredDefaults
  ) -> [[PastPoint]]? {
    let view = StateView(store: store, LedgerView(state: cached.state, registered: registered)).forManyConditions
    var points: [[PastPoint]] = []
    for (condition, cursors) in zip(conditions, cursors) {
      var found: [PastPoint] = []
      for cursor in cursors {
        switch condition.resource?.point(at: cursor, in: cached, view) {
        case .point(let point)?: found.append(point)
        case FoundPoint.none?, nil: break
        case .stored?: return nil
        }
      }
      points.append(found)
    }
    return points
  }
}

/// For each condition of a write, the points of the history that it names.
enum PastPoints {
  case known([[PastPoint]])
  case stored(@Sendable () async throws -> [[PastPoint]])
}
