import CLockstepLinux
import Glibc
import LockstepThreading

/// The limits of this process: its cores, its memory dumps, its threads and its open files.
public enum ProcessLimits {
  /// The number of cores on which this process may run, at least one.
  public static var cores: Int {
    // One bit for each core. 128 bytes have room for 1,024 cores, as in the C library.
    var mask = [UInt64](repeating: 0, count: 16)
    let isKnown = mask.withUnsafeMutableBytes { lockstep_affinity($0.baseAddress, $0.count) } > 0
    let allowed = mask.reduce(0) { $0 + $1.nonzeroBitCount }
    return max(1, isKnown && allowed > 0 ? allowed : sysconf(Int32(_SC_NPROCESSORS_ONLN)))
  }

  /// Forbids core files of this process, and lets only root read its memory, because the memory
  /// contains passwords and tokens. Returns whether both are in effect.
  @discardableResult
  public static func forbidDumps() -> Bool {
    lockstep_set_dumpable(0) == 0 && lockstep_is_dumpable() == 0
  }

  /// Throws if the system has too few threads for a server with this configuration. Call it before
  /// the server starts: if Swift's own thread pools cannot get a thread, they wait for it forever.
  public static func expectThreads(for configuration: Configuration) throws(NamedThread.NotStarted) {
    // The event loops, Swift's own threads, the threads of store, pools and log, and a few more.
    try NamedThread.expectRoom(for: (configuration.threads ?? cores) + cores + 16)
  }

  /// Raises the limit on open files to the most that the system allows. Returns the new limit.
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
