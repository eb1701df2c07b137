import CLockstepLinux
import Glibc
import LockstepThreading

/// The limits of the process.
public enum ProcessLimits {
  /// The number of cores on which this process may run, at least one.
  public static var cores: Int {
    // One bit for each core. 128 bytes are enough for 1,024 cores, as in the C library.
    var mask = [UInt64](repeating: 0, count: 16)
    let isKnown = mask.withUnsafeMutableBytes { lockstep_affinity($0.baseAddress, $0.count) } > 0
    let allowed = mask.reduce(0) { $0 + $1.nonzeroBitCount }
    return max(1, isKnown && allowed > 0 ? allowed : sysconf(Int32(_SC_NPROCESSORS_ONLN)))
  }

  /// Forbids core files, and lets only root read the memory of the process, because it contains passwords and tokens. Returns whether
  /// that succeeded.
  @discardableResult
  public static func forbidDumps() -> Bool {
    lockstep_set_dumpable(0) == 0 && lockstep_is_dumpable() == 0
  }

  /// Throws if the system has fewer threads than a server with this configuration needs. Call it before anything else, because Swift's
  /// runtime would wait for its threads silently.
  public static func expectThreads(for configuration: Configuration) throws(NamedThread.NotStarted) {
    // The loops, Swift's own threads, and those of the store, the pools and the log, with a few to spare.
    try NamedThread.expectRoom(for: (configuration.threads ?? cores) + cores + 16)
  }

  /// Raises the limit on open files as far as the system allows. Returns the limit.
  @discardableResult
  public static func raiseDescriptorLimit() -> Int {
    let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    var limit = rlimit()
    guard getrlimit(resource, &limit) == 0 else { return 0 }
    limit.rlim_cur = limit.rlim_max
    setrlimit(resource, &limit)
    getrlimit(resource, &limit)
    return Int(clamping: limit.rlim_cur)
  }
}
