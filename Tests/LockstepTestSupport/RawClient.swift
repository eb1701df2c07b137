import Glibc
import Testing

/// A client that sends exactly the bytes it's told to and reads exactly what comes, over a real socket on loopback.
///
/// It never blocks the thread it's on: tests share few, and a server's handlers may need one. Reading fails after a
/// minute without a byte, so that a server that hangs fails a test instead of stopping the run; no test that passes
/// waits for it.
public final class RawClient {
  /// What went wrong, in a sentence.
  public struct Failure: Error, CustomStringConvertible {
    /// The sentence.
    public let description: String
  }

  /// The socket; -1 once closed.
  public private(set) var descriptor: Int32
  private var buffered: [UInt8] = []
  private var forgotten = 0

  /// A client connected to a port of 127.0.0.1.
  public init(port: Int, receiveBuffer: Int32? = nil) throws {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    guard descriptor >= 0 else { throw Failure(description: "socket: errno \(errno)") }
    // Without it a test that sends twice in a row would wait for the kernel's delayed acknowledgement.
    var on: Int32 = 1
    setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
    if var size = receiveBuffer {
      setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
    }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(port).bigEndian
    address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
    let connected = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard connected == 0 else {
      let code = errno
      close()
      throw Failure(description: "connect: errno \(code)")
    }
  }

  deinit { close() }

  /// Closes in good order.
  public func close() {
    guard descriptor >= 0 else { return }
    _ = Glibc.close(descriptor)
    descriptor = -1
  }

  /// Closes with a reset instead of an orderly end.
  public func reset() {
    var option = linger(l_onoff: 1, l_linger: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    close()
  }

  /// Says that nothing more will be sent, and goes on reading.
  public func finishSending() {
    shutdown(descriptor, Int32(SHUT_WR))
  }

  /// Sends a text's bytes.
  public func send(_ text: String) async throws {
    try await send(Array(text.utf8))
  }

  /// Sends bytes, however long the server takes to read them.
  public func send(_ bytes: [UInt8]) async throws {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes {
        Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
      }
      if count < 0, errno == EAGAIN {
        await ready(for: POLLOUT)
        continue
      }
      guard count > 0 else { throw Failure(description: "send: errno \(errno)") }
      rest = rest.dropFirst(count)
    }
  }

  /// Returns when what was sent lies in the server's socket: its kernel has acknowledged it all.
  public func waitUntilTaken() async throws {
    let descriptor = descriptor
    await eventually {
      var unacknowledged: Int32 = -1
      return ioctl(descriptor, UInt(TIOCOUTQ), &unacknowledged) != 0 || unacknowledged == 0
    }
  }

  /// One whole answer, as its `Content-Length` or its chunks say.
  public func response(toHead: Bool = false) async throws -> RawResponse {
    while true {
      if let (response, used) = RawResponse.parse(buffered, toHead: toHead) {
        buffered.removeFirst(used)
        return response
      }
      var isOpen = try await receive()
      // Taking a long answer apart after every piece of it would take longer than all the rest.
      while isOpen, hasMore { isOpen = try await receive() }
      guard isOpen || RawResponse.parse(buffered, toHead: toHead) != nil else {
        throw Failure(description: "the server closed; so far it sent: \(String(decoding: buffered, as: UTF8.self))")
      }
    }
  }

  /// Everything until the server closes. A reset counts as the end.
  public func readToEnd() async throws -> String {
    while try await receive() {}
    defer { buffered = [] }
    return String(decoding: buffered, as: UTF8.self)
  }

  /// Takes at least so many bytes more, and forgets them.
  public func receive(atLeast count: Int) async throws {
    var taken = 0
    while taken < count {
      guard try await receive() else { throw Failure(description: "the server closed after \(taken) bytes more") }
      taken += buffered.count
      buffered = []
    }
    forgotten += taken
  }

  /// Takes what comes up to this text and forgets it.
  public func receive(until text: String) async throws {
    while true {
      let all = String(decoding: buffered, as: UTF8.self)
      if let range = all.range(of: text) {
        buffered = Array(all[range.upperBound...].utf8)
        return
      }
      guard try await receive() else { throw Failure(description: "the server closed; so far it sent: \(all)") }
    }
  }

  /// What comes up to the next line end, without it.
  public func line() async throws -> [UInt8] {
    var searched = 0
    while true {
      if let end = buffered[searched...].firstIndex(of: 0x0A), end > 0, buffered[end - 1] == 0x0D {
        defer { buffered.removeFirst(end + 1) }
        return Array(buffered[..<(end - 1)])
      } else if let end = buffered[searched...].firstIndex(of: 0x0A) {
        searched = end + 1
        continue
      }
      searched = buffered.count
      guard try await receive() else { throw Failure(description: "the server closed in the middle of a line") }
    }
  }

  /// How many bytes came in all, once the server has closed.
  public func countToEnd() async throws -> Int {
    while try await receive() {
      forgotten += buffered.count
      buffered = []
    }
    return forgotten
  }

  /// Whether the server has closed without sending anything more.
  public func isClosed() async throws -> Bool {
    try await readToEnd().isEmpty
  }

  private func receive() async throws -> Bool {
    var chunk = [UInt8](repeating: 0, count: 256 * 1024)
    for _ in 0..<2 {
      let count = recv(descriptor, &chunk, chunk.count, Int32(MSG_DONTWAIT))
      if count < 0, errno == ECONNRESET { return false }
      if count < 0, errno == EAGAIN {
        await ready(for: POLLIN)
        continue
      }
      guard count >= 0 else { throw Failure(description: "recv: errno \(errno)") }
      buffered += chunk[..<count]
      return count > 0
    }
    throw Failure(description: "nothing came for five minutes")
  }

  private var hasMore: Bool {
    var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return poll(&entry, 1, 0) == 1
  }

  private func ready(for events: Int32) async {
    let descriptor = descriptor
    await aside {
      var entry = pollfd(fd: descriptor, events: Int16(events), revents: 0)
      poll(&entry, 1, 300_000)
    }
  }
}
