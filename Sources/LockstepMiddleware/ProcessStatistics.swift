import Glibc

/// What the kernel says about this process.
package struct ProcessStatistics: Sendable {
  package var residentBytes = 0
  package var cpuSeconds = 0.0
  package var openDescriptors = 0
  package var maxDescriptors = 0

  /// Asks the kernel. What it can't say is 0.
  ///
  /// Costs the caller's thread some microseconds, however many descriptors are open.
  package static func current() async -> ProcessStatistics {
    var statistics = ProcessStatistics()
    statistics.residentBytes = residentPages() * Int(sysconf(Int32(_SC_PAGESIZE)))
    var usage = rusage()
    if getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage) == 0 {
      statistics.cpuSeconds = seconds(usage.ru_utime) + seconds(usage.ru_stime)
    }
    var limit = rlimit()
    if getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 {
      statistics.maxDescriptors = Int(clamping: limit.rlim_cur)
    }
    if let count = sizeOfDescriptorTable() {
      statistics.openDescriptors = count
    } else {
      // 20,000 take 15 ms to list: not on the loop that asks.
      statistics.openDescriptors = await Task.detached { listDescriptors() }.value
    }
    return statistics
  }

  /// How many descriptors are open, as the size of their folder; nil where that is always 0: before Linux 6.2.
  static func sizeOfDescriptorTable() -> Int? {
    var status = stat()
    guard stat("/proc/self/fd", &status) == 0, status.st_size > 0 else { return nil }
    return Int(status.st_size)
  }

  /// The same by listing them.
  static func listDescriptors() -> Int { countEntries(of: "/proc/self/fd") }

  private static func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1_000_000 }

  /// The second number of `/proc/self/statm`.
  private static func residentPages() -> Int {
    guard let file = fopen("/proc/self/statm", "r") else { return 0 }
    defer { fclose(file) }
    var line = [UInt8](repeating: 0, count: 256)
    let count = fread(&line, 1, line.count, file)
    let fields = line[..<count].split(separator: UInt8(ascii: " "))
    return fields.count > 1 ? Int(String(decoding: fields[1], as: UTF8.self)) ?? 0 : 0
  }

  private static func countEntries(of path: String) -> Int {
    guard let directory = opendir(path) else { return 0 }
    defer { closedir(directory) }
    var count = 0
    while readdir(directory) != nil { count += 1 }
    // `.`, `..` and the descriptor of this very listing are no open files of ours.
    return max(0, count - 3)
  }
}
