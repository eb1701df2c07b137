import LockstepCollections
import LockstepJSON
import LockstepModules
import LockstepStore
import LockstepSync

/// Compares a user's tables with the state that can be rebuilt from the journal.
struct UserCheck {
  let states: ModuleTables
  let defaults: DefaultsQuota
  let connection: StoreConnection
  /// The names of deleted collections, which histories may have.
  private let deleted: Set<ExactText>

  init(states: ModuleTables, defaults: DefaultsQuota, connection: StoreConnection) throws {
    (self.states, self.defaults, self.connection) = (states, defaults, connection)
    let isKnown = try connection.hasDeclaredCollections()
    deleted = isKnown ? try DeclaredCollectionsTable().load(from: connection).deleted : []
  }

  func check(_ user: UserID, _ report: inout CheckReport) throws {
    let present = try states.load(user, from: connection)
    try checkForGaps(user, &report)
    try checkNumbers(user, &report)
    for difference in try differences(of: user, from: present) { report.add(.users, "user \(user): \(difference)") }
    for excess in excesses(of: present) { report.add(.quotas, "user \(user): \(excess)") }
  }

  /// The differences between the tables and the state that is rebuilt from journal and snapshots. Of the
  /// removals, those after the snapshots are compared: the record of each may only be replaced by a later one.
  private func differences(of user: UserID, from present: UserState) throws -> [String] {
    let names = try Journal(connection: connection).recordedCollections(of: user).union(present.collections.keys)
    var removals: [CollectionName: Revision] = [:]
    let rebuilt = try StateHistory(states: states).rebuild(
      names,
      of: user,
      at: present.revision,
      from: connection,
      changed: { name, revision, edits in if edits.removesRows { removals[name] = revision } }
    )
    let differences: [String] = names.sorted().compactMap { name in
      guard states[name.module] != nil else {
        if deleted.contains(name.module.exact) { return nil }
        return "the journal has entries of \(name), which is not a collection"
      }
      return difference(of: name, present.collections[name], rebuilt[name].flatMap { $0.revision > .none ? $0 : nil })
    }
    return differences + (try missingRemovals(of: user, removals))
  }

  private func missingRemovals(of user: UserID, _ needed: [CollectionName: Revision]) throws -> [String] {
    if needed.isEmpty { return [] }
    let recorded = try RemovalRecords.revisions(of: user, in: connection)
    return needed.sorted { $0.key < $1.key }.compactMap { name, revision in
      if recorded[name, default: .none].number >= revision.number { return nil }
      return "\(name): the table removals lacks the removal at revision \(revision.number)"
    }
  }

  private func difference(of name: CollectionName, _ table: CollectionState?, _ journal: CollectionState?) -> String? {
    guard table != journal else { return nil }
    guard let table else { return "\(name): the journal has entries, the tables are empty" }
    guard let journal else { return "\(name): the tables have elements, the journal has no entries" }
    let place = firstDifference(table, journal).map { "; the first difference is at “\($0)”" } ?? ""
    return "\(name): the tables have \(table.count) elements at revision \(table.revision), the journal gives "
      + "\(journal.count) at revision \(journal.revision)\(place)"
  }

  private func firstDifference(_ table: CollectionState, _ journal: CollectionState) -> String? {
    switch (table, journal) {
    case (.list(let left), .list(let right)):
      let pairs = zip(left.items, right.items)
      if let pair = pairs.first(where: { $0 != $1 }) { return pair.0.id.text }
      return (left.count > right.count ? left.items.dropFirst(right.count) : right.items.dropFirst(left.count)).first?
        .id.text
    case (.map(let left), .map(let right)):
      return left.changedKeys(in: right).first?.text
    default: return nil
    }
  }

  private func checkForGaps(_ user: UserID, _ report: inout CheckReport) throws {
    guard let (count, range) = try Journal(connection: connection).kept(of: user), range.count != count else { return }
    report.add(
      .users,
      "user \(user): the journal has \(count) of the \(range.count) revisions from \(range.first ?? 0) to "
        + "\(range.last ?? 0)"
    )
  }

  /// Reports numbers that no server has written.
  private func checkNumbers(_ user: UserID, _ report: inout CheckReport) throws {
    let sizes = try Journal(connection: connection).impossibleSizes(of: user)
    if sizes > 0 { report.add(.users, "user \(user): \(sizes) entries of the journal have an impossible size") }
    for (module, ranks) in try states.damagedRanks(of: user, in: connection).sorted(by: { $0.key < $1.key }) {
      report.add(.users, "user \(user): \(module): \(ranks.count) elements have an impossible rank")
    }
  }

  private func excesses(of state: UserState) -> [String] {
    let suites = state.collections(of: "defaults").filter { $0.state.count > 0 }
    var rows: [(what: String, has: Int, may: Int)] = [("suites", suites.count, defaults.suites)]
    for (name, collection) in state.collections.sorted(by: { $0.key < $1.key }) {
      guard let quota = states[name.module]?.quota else { continue }
      rows.append(("elements of \(name)", collection.count, quota.elements))
      rows.append(("bytes of \(name)", collection.bytes, quota.bytes))
    }
    for (name, suite) in suites {
      rows += [("keys in \(name)", suite.count, defaults.keys), ("bytes in \(name)", suite.bytes, defaults.bytes)]
    }
    return rows.filter { $0.has > $0.may }.map { "\($0.has) \($0.what), the quota is \($0.may)" }
  }
}
