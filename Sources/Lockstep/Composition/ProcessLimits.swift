import CLockstepLinux
import Glibc
import LockstepThreading

/// What the process may use of the machine.
public enum ProcessLimits {
  /// The cores this process may run on, at least one.
  public static var cores: Int {
    // One bit for each core of the machine; 128 bytes are room for 1,024, which is what the C library reckons with too.
    var mask = [UInt64](repeating: 0, count: 16)
    let isKnown = mask.withUnsafeMutableBytes { lockstep_affinity($0.baseAddress, $0.count) } > 0
    let allowed = mask.reduce(0) { $0 + $1.nonzeroBitCount }
    return max(1, isKnown && allowed > 0 ? allowed : sysconf(Int32(_SC_NPROCESSORS_ONLN)))
  }

  /// Has the kernel write no core file of this process, and let nobody but root look into its memory: passwords and tokens pass
  /// through it. Gives whether that holds now.
  @discardableResult
  public static func forbidDumps() -> Bool {
    lockstep_set_dumpable(0) == 0 && lockstep_is_dumpable() == 0
  }

  /// Returns where the system has as many threads as a server of this configuration takes, or throws. To be called before
  /// anything is started: Swift's own threads are waited for without a word where there are none.
  public static func expectThreads(for configuration: Configuration) throws(NamedThread.NotStarted) {
    // The loops, Swift's own, and those of the store, the pools and the log, with a few to spare.
    try NamedThread.expectRoom(for: (configuration.threads ?? cores) + cores + 16)
  }

  /// Raises the number of open files to the most the system allows; gives that number.
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
