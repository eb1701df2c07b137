import Glibc

/// Waits for sockets with `poll`.
enum SocketWait {
  enum Outcome {
    case ready
    case timedOut
    case canceled
  }

  /// Waits until the descriptor is ready, has failed or was closed by the other side. Ends at once if
  /// `cancellation` was interrupted.
  static func wait(
    for descriptor: Int32,
    _ events: Int,
    until deadline: ContinuousClock.Instant,
    unless cancellation: PostgreSQLInterrupt?
  ) -> Outcome {
    var interests = [(descriptor, events)]
    if let cancellation { interests.append((cancellation.descriptor, Int(POLLIN))) }
    guard let ready = wait(for: interests, until: deadline) else { return .timedOut }
    return ready[0] ? .ready : .canceled
  }

  /// Waits until one of the descriptors is ready, has failed or was closed by the other side.
  ///
  /// - Returns: Which descriptors are ready; nil if none was until the deadline.
  static func wait(
    for interests: [(descriptor: Int32, events: Int)],
    until deadline: ContinuousClock.Instant
  ) -> [Bool]? {
    var descriptors = interests.map { pollfd(fd: $0.descriptor, events: Int16($0.events), revents: 0) }
    while true {
      let left = deadline - ContinuousClock.now
      // Rounded up, so that the last millisecond does not spin.
      let milliseconds = (left / .milliseconds(1)).rounded(.up)
      let count = poll(
        &descriptors,
        nfds_t(descriptors.count),
        Int32(min(max(milliseconds, 0), Double(Int32.max)))
      )
      if count > 0 { return descriptors.map { $0.revents != 0 } }
      if count == 0 {
        if milliseconds <= Double(Int32.max) { return nil }
        continue
      }
      // Interrupted by a signal. Any other failure shows at the next use of the descriptors.
      if errno != EINTR { return descriptors.map { _ in true } }
    }
  }
}
