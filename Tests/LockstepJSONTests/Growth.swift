import Glibc

/// How many times longer `work` takes for eight times as much: 8 where it is linear, 64 where it is quadratic.
///
/// It's the processor time of this thread, the best of three tries each, so that a busy machine changes little; an
/// absolute time would test the machine.
public func growth(from size: Int, _ work: (Int) throws -> Void) rethrows -> Double {
  let small = try bestTime { try work(size) }
  let large = try bestTime { try work(size * 8) }
  return large / max(small, 1e-9)
}

/// More than any linear work shows, noise and caches included, and less than quadratic work does.
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
