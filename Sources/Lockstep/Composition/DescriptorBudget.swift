import LockstepJSON
import LockstepLogging

/// What the limit on open files leaves for connections, each of which takes one.
struct DescriptorBudget {
  /// How many files the process may have open.
  let limit: Int
  /// How many connections are to be served.
  let connections: Int
  /// How many event loops there are.
  let loops: Int

  /// What else is open: the standard streams, the store with its readers, what each loop listens on and waits with.
  private var others: Int { 64 + 4 * loops }
  /// However little is left, somebody is told why nobody is let in.
  private static let leastRefusals = 16

  /// How many connections over the limit can be answered that there is no room: as many again as are served, where there
  /// are descriptors for them.
  var refusals: Int { max(Self.leastRefusals, min(connections, limit - min(limit, others) - min(limit, connections))) }

  /// How many files it takes to serve all connections that may come.
  private var needed: Int { connections + others + Self.leastRefusals }

  /// Says what to do where the limit is too low; nil where it isn't.
  var warning: String? {
    guard limit < needed else { return nil }
    let fitting = max(1, limit - others - Self.leastRefusals)
    return
      "the limit on open files is too low for --max-connections: raise it to \(needed) (ulimit -n, LimitNOFILE= of "
      + "systemd, --ulimit nofile= of docker) or lower --max-connections to \(fitting); until then connections past it "
      + "have to wait"
  }

  /// Tells the operator where there is something to tell.
  func warn(_ logger: Logger) {
    guard let warning else { return }
    logger.log(
      .warning,
      warning,
      ["openFiles": .integer(Int64(limit)), "maxConnections": .integer(Int64(connections))]
    )
  }
}
