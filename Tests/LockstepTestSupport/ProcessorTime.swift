import Glibc

/// The processor time of work on this thread, in seconds: the least of five runs. Other work on the
/// machine hardly changes it.
public func processorTime(of work: () throws -> Void) rethrows -> Double {
  func now() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
  var least = Double.infinity
  for _ in 0..<5 {
    let start = now()
    try work()
    least = min(least, now() - start)
  }
  return least
}
