import LockstepJSON
import LockstepLogging

/// Divides the limit on open files. Each connection takes one.
struct DescriptorBudget {
  /// The limit on open files of the process.
  let limit: Int
  /// The limit on connections.
  let connections: Int
  /// The number of event loops.
  let loops: Int

  /// The other open files: standard streams, the store with its readers, and the sockets and epoll files of the loops.
  private var others: Int { 64 + 4 * loops }
  /// At least this many connections over the limit get a response.
  private static let leastRefusals = 16

  /// How many connections over the limit get a 503: as many as the limit, if there are descriptors for them.
  var refusals: Int { max(Self.leastRefusals, min(connections, limit - min(limit, others) - min(limit, connections))) }

  /// How many files all connections need.
  private var needed: Int { connections + others + Self.leastRefusals }

  /// The advice if the limit is too low; nil if it is not.
  var warning: String? {
    guard limit < needed else { return nil }
    let fitting = max(1, limit - others - Self.leastRefusals)
    return
      "the limit on open files is too low for --max-connections: raise it to \(needed) (ulimit -n, LimitNOFILE= of "
      + "systemd, --ulimit nofile= of docker) or lower --max-connections to \(fitting); until then connections past it "
      + "have to wait"
  }

  /// Logs the warning, if there is one.
  func warn(_ logger: Logger) {
    guard let warning else { return }
    logger.log(
      .warning,
      warning,
      ["openFiles": .integer(Int64(limit)), "maxConnections": .integer(Int64(connections))]
    )
  }
}
