import LockstepLogging

/// Divides the limit on open files between connections (one file each) and the rest of the process.
struct DescriptorBudget {
  let limit: Int
  let connections: Int
  let loops: Int
  /// Whether there may be other nodes.
  var isFleet = false

  /// The standard streams, the store, its readers, the operator's connections, the sockets and event queue of each
  /// loop, and the connections to other nodes.
  private var others: Int { base + forwardedRequests }
  private var base: Int { 64 + 4 * loops }
  /// At least this many surplus connections can get a 503.
  private static let leastRefusals = 16

  /// How many requests may be forwarded to other nodes at the same time, each over a connection of its
  /// own: as many as `connections`, if `limit` allows it.
  var forwardedRequests: Int {
    guard isFleet else { return 0 }
    let left = limit - min(limit, base + Self.leastRefusals)
    return max(1, min(connections, max(left / 8, left - min(left, connections))))
  }

  /// How many connections may be open at the same time. The rest of the process needs descriptors
  /// too. Without them, the server cannot read the store. Swift's runtime opens files of /proc when
  /// it has more work than threads, and ends the process if it cannot open them.
  var openConnections: Int { max(limit / 4, limit - others) }

  /// How many surplus connections can get a 503: as many as `connections`, if `limit` allows it.
  var refusals: Int { max(Self.leastRefusals, min(connections, limit - min(limit, others) - min(limit, connections))) }

  /// The lowest limit with which the server can serve all `connections`.
  private var needed: Int { connections + others + Self.leastRefusals }

  /// Advice for the operator if the limit is too low.
  var warning: String? {
    guard limit < needed else { return nil }
    let fitting = max(1, limit - others - Self.leastRefusals)
    return
      "the limit on open files is too low for --max-connections: raise it to \(needed) (ulimit -n, LimitNOFILE= of "
      + "systemd, --ulimit nofile= of docker) or lower --max-connections to \(fitting); until then, connections over "
      + "the limit have to wait"
  }

  func warn(_ logger: Logger) {
    guard let warning else { return }
    logger.log(
      .warning,
      warning,
      ["openFiles": .integer(Int64(limit)), "maxConnections": .integer(Int64(connections))]
    )
  }
}
