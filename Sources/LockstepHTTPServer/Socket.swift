import CLockstepLinux
import Glibc

/// A connected socket that never blocks.
struct Socket {
  enum Outcome: Equatable {
    /// This many bytes, at least one, were read or written.
    case bytes(Int)
    case wouldBlock
    /// Reading: the client sends no more.
    case end
    /// The connection is gone.
    case broken
  }

  let descriptor: Int32

  /// Turns off Nagle's algorithm, so that small responses are sent at once.
  func disableDelay() {
    var on: Int32 = 1
    setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
  }

  func read(into buffer: UnsafeMutableRawBufferPointer) -> Outcome {
    let outcome = Self.retried { recv(descriptor, buffer.baseAddress, buffer.count, 0) }
    return outcome == .bytes(0) ? .end : outcome
  }

  func write(_ bytes: UnsafeRawBufferPointer) -> Outcome {
    Self.retried { send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL)) }
  }

  func write(_ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer) -> Outcome {
    // The kernel only reads from these buffers, although `iovec` has mutable pointers.
    var parts = [
      iovec(iov_base: UnsafeMutableRawPointer(mutating: first.baseAddress), iov_len: first.count),
      iovec(iov_base: UnsafeMutableRawPointer(mutating: second.baseAddress), iov_len: second.count),
    ]
    return parts.withUnsafeMutableBufferPointer { parts in
      var message = msghdr()
      message.msg_iov = parts.baseAddress
      message.msg_iovlen = parts.count
      return Self.retried { sendmsg(descriptor, &message, Int32(MSG_NOSIGNAL)) }
    }
  }

  /// How many written bytes the client has not acknowledged yet.
  var unacknowledged: Int {
    var count: Int32 = 0
    guard ioctl(descriptor, UInt(TIOCOUTQ), &count) == 0 else { return 0 }
    return Int(count)
  }

  /// Shuts down the writing side, which signals the client that nothing more follows.
  func finishWriting() {
    shutdown(descriptor, Int32(SHUT_WR))
  }

  func close() {
    _ = Glibc.close(descriptor)
  }

  private static func retried(_ call: () -> Int) -> Outcome {
    while true {
      let count = call()
      if count >= 0 { return .bytes(count) }
      if errno == EAGAIN || errno == EWOULDBLOCK { return .wouldBlock }
      guard errno == EINTR else { return .broken }
    }
  }
}
