import Glibc

package struct ProcessStatistics: Sendable {
  package var residentBytes = 0
  package var cpuSeconds = 0.0
  package var openDescriptors = 0
  package var maxDescriptors = 0

  /// Reads the values from the kernel. This blocks the caller's thread for some microseconds.
  /// Unknown values are 0.
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
      // Not on the caller's event loop, because listing 20,000 descriptors takes 15 ms.
      statistics.openDescriptors = await Task.detached { listDescriptors() }.value
    }
    return statistics
  }

  /// The number of open descriptors; nil before Linux 6.2, where `/proc/self/fd` has no size.
  static func sizeOfDescriptorTable() -> Int? {
    var status = stat()
    guard stat("/proc/self/fd", &status) == 0, status.st_size > 0 else { return nil }
    return Int(status.st_size)
  }

  private static func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1_000_000 }

  private static func residentPages() -> Int {
    guard let file = fopen("/proc/self/statm", "r") else { return 0 }
    defer { fclose(file) }
    var line = [UInt8](repeating: 0, count: 256)
    let count = fread(&line, 1, line.count, file)
    let fields = line[..<count].split(separator: UInt8(ascii: " "))
    return fields.count > 1 ? Int(String(decoding: fields[1], as: UTF8.self)) ?? 0 : 0
  }

  static func listDescriptors() -> Int {
    guard let directory = opendir("/proc/self/fd") else { return 0 }
    defer { closedir(directory) }
    var count = 0
    while readdir(directory) != nil { count += 1 }
    // `.`, `..` and the descriptor of this listing do not count.
    return max(0, count - 3)
  }
}
