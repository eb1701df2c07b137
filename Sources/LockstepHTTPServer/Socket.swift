import CLockstepLinux
import Glibc

/// A connected socket that never blocks.
struct Socket {
  /// What a call on it gave.
  enum Outcome: Equatable {
    /// So many bytes went through; more than none.
    case bytes(Int)
    /// Nothing can go through now.
    case wouldBlock
    /// Reading: the other side sends no more.
    case end
    /// The connection is gone.
    case broken
  }

  let descriptor: Int32

  /// Has small answers sent at once rather than held back for more (Nagle's algorithm).
  func disableDelay() {
    var on: Int32 = 1
    setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
  }

  func read(into buffer: UnsafeMutableRawBufferPointer) -> Outcome {
    while true {
      let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
      if count > 0 { return .bytes(count) }
      if count == 0 { return .end }
      guard errno == EINTR else { return Self.failure() }
    }
  }

  func write(_ bytes: UnsafeRawBufferPointer) -> Outcome {
    while true {
      let count = send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
      if count > 0 { return .bytes(count) }
      guard count < 0, errno == EINTR else { return Self.failure() }
    }
  }

  /// Writes two buffers, one behind the other, with one call.
  func write(_ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer) -> Outcome {
    // The kernel only reads from what a vector points to; its type has no way to say so.
    var parts = [
      iovec(iov_base: UnsafeMutableRawPointer(mutating: first.baseAddress), iov_len: first.count),
      iovec(iov_base: UnsafeMutableRawPointer(mutating: second.baseAddress), iov_len: second.count),
    ]
    return parts.withUnsafeMutableBufferPointer { parts in
      var message = msghdr()
      message.msg_iov = parts.baseAddress
      message.msg_iovlen = parts.count
      while true {
        let count = sendmsg(descriptor, &message, Int32(MSG_NOSIGNAL))
        if count > 0 { return .bytes(count) }
        guard count < 0, errno == EINTR else { return Self.failure() }
      }
    }
  }

  /// How many written bytes the other side hasn't acknowledged yet.
  var unacknowledged: Int {
    var count: Int32 = 0
    guard ioctl(descriptor, UInt(TIOCOUTQ), &count) == 0 else { return 0 }
    return Int(count)
  }

  /// Tells the other side that nothing more comes.
  func finishWriting() {
    shutdown(descriptor, Int32(SHUT_WR))
  }

  func close() {
    _ = Glibc.close(descriptor)
  }

  private static func failure() -> Outcome {
    errno == EAGAIN || errno == EWOULDBLOCK ? .wouldBlock : .broken
  }
}
