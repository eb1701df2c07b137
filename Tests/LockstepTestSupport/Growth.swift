import Glibc

/// How many times longer `work` takes for eight times the size: 8 if it is linear, 64 if it is
/// quadratic.
///
/// It measures the CPU time of this thread and takes the best of three runs, so that a busy machine
/// changes little. A limit on the time itself would test the machine.
public func growth(from size: Int, _ work: (Int) throws -> Void) rethrows -> Double {
  let small = try bestTime { try work(size) }
  let large = try bestTime { try work(size * 8) }
  return large / max(small, 1e-9)
}

/// Linear work stays below this factor, even with noise and cache misses. Quadratic work exceeds
/// it.
public let linearGrowth = 0.0..<32.0

private func bestTime(_ work: () throws -> Void) rethrows -> Double {
  var best = Double.infinity
  for _ in 0..<3 {
    let start = processorTime()
    try work()
    best = min(best, processorTime() - start)
  }
  return best
}

private func processorTime() -> Double {
  var time = timespec()
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
  return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}
