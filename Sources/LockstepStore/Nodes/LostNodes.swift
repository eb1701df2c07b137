/// Finds the other nodes that have lost their leases without having stopped, for the operator.
struct LostNodes: Sendable {
  private struct Lost {
    let since: ContinuousClock.Instant
    var isReported = false
  }

  /// A node is reported when its lease has been over for this long. After the database has hung, all leases
  /// begin again, one after the other, and no node must be reported for that.
  private static let patience = Duration.seconds(1)
  /// The shortest time between two reports about a node.
  private static let interval = Duration.seconds(10)

  private var live: Set<String> = []
  private var lost: [String: Lost] = [:]
  private var lastReport: [String: ContinuousClock.Instant] = [:]

  /// Compares the other nodes in the table `nodes` with those of the last call. If `isOwnRunning` is false, this
  /// node itself had no lease, so the other nodes are not the reason.
  mutating func note(
    _ all: [CommitFeed.OtherNode],
    isOwnRunning: Bool,
    at now: ContinuousClock.Instant
  ) -> [FleetNotice] {
    var notices: [FleetNotice] = []
    for node in all where node.holdsLease {
      guard let found = lost.removeValue(forKey: node.id), found.isReported else { continue }
      notices.append(.nodeBack(id: node.id, address: node.address, after: now - found.since))
    }
    for node in all where !node.holdsLease && (live.contains(node.id) || lost[node.id] != nil) {
      var found = lost[node.id] ?? Lost(since: now)
      if !isOwnRunning, !found.isReported { found = Lost(since: now) }
      let isSilent = lastReport[node.id].map { now - $0 < Self.interval } ?? false
      if !found.isReported, !isSilent, now - found.since >= Self.patience {
        found.isReported = true
        lastReport[node.id] = now
        notices.append(.nodeLost(id: node.id, address: node.address))
      }
      lost[node.id] = found
    }
    // Nodes that have stopped have deleted their rows.
    let ids = Set(all.map(\.id))
    lost = lost.filter { ids.contains($0.key) }
    lastReport = lastReport.filter { ids.contains($0.key) }
    live = Set(all.filter(\.holdsLease).map(\.id))
    return notices
  }
}
