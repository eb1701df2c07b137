import Glibc
import Testing

/// A client that sends exactly the given bytes and reads exactly what arrives, over a real socket
/// on loopback.
///
/// It never blocks its thread, because tests share few threads and a server's handlers may need
/// one. Reading fails after a minute without a byte, so a server that hangs fails a test and does
/// not stop the run. No passing test waits that long.
public final class RawClient {
  /// The reason for a failure, in a sentence.
  public struct Failure: Error, CustomStringConvertible {
    /// The reason.
    public let description: String
  }

  /// The socket, or -1 after it is closed.
  public private(set) var descriptor: Int32
  private var buffered: [UInt8] = []
  private var forgotten = 0

  /// Connects to a port of 127.0.0.1, from the address 127.0.0.`source`.
  public init(port: Int, receiveBuffer: Int32? = nil, source: UInt32 = 1) throws {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    guard descriptor >= 0 else { throw Failure(description: "socket: errno \(errno)") }
    // Without this option, a test that sends twice in a row would wait for the kernel's delayed
    // acknowledgement.
    var on: Int32 = 1
    setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
    if var size = receiveBuffer {
      setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
    }
    // The port is chosen in `connect`: `bind` would take one of those that listeners get, and none
    // that an earlier connection still has in TIME_WAIT.
    setsockopt(descriptor, Int32(IPPROTO_IP), IP_BIND_ADDRESS_NO_PORT, &on, socklen_t(MemoryLayout<Int32>.size))
    guard Self.at(source, port: 0, { Glibc.bind(descriptor, $0, $1) }) == 0,
      Self.at(1, port: port, { Glibc.connect(descriptor, $0, $1) }) == 0
    else {
      let code = errno
      close()
      throw Failure(description: "connect: errno \(code)")
    }
  }

  /// Calls `body` with a port of 127.0.0.`host`.
  private static func at(
    _ host: UInt32,
    port: Int,
    _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
  ) -> Int32 {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(port).bigEndian
    address.sin_addr.s_addr = in_addr_t(0x7F00_0000 + host).bigEndian
    return withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
    }
  }

  deinit { close() }

  /// Closes the connection in an orderly way.
  public func close() {
    guard descriptor >= 0 else { return }
    _ = Glibc.close(descriptor)
    descriptor = -1
  }

  /// Closes the connection with a reset.
  public func reset() {
    var option = linger(l_onoff: 1, l_linger: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    close()
  }

  /// Half-closes the connection: sends nothing more, but continues to read.
  public func finishSending() {
    shutdown(descriptor, Int32(SHUT_WR))
  }

  /// Sends the bytes of a text.
  public func send(_ text: String) async throws {
    try await send(Array(text.utf8))
  }

  /// Sends bytes, however slowly the server reads them.
  public func send(_ bytes: [UInt8]) async throws {
    var rest = (SwappedWords.current?.swapping(bytes) ?? bytes)[...]
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

  /// Returns when the server's kernel has acknowledged all sent bytes.
  public func waitUntilTaken() async throws {
    let descriptor = descriptor
    await eventually {
      var unacknowledged: Int32 = -1
      return ioctl(descriptor, UInt(TIOCOUTQ), &unacknowledged) != 0 || unacknowledged == 0
    }
  }

  /// Reads one complete response, by its `Content-Length` or its chunks.
  public func response(toHead: Bool = false) async throws -> RawResponse {
    while true {
      if let (response, used) = RawResponse.parse(buffered, toHead: toHead) {
        buffered.removeFirst(used)
        return response.swapped
      }
      var isOpen = try await receive()
      // Parsing a long response after every received piece would take longer than all the rest.
      while isOpen, hasMore { isOpen = try await receive() }
      guard isOpen || RawResponse.parse(buffered, toHead: toHead) != nil else {
        throw Failure(description: "the server closed; so far it sent: \(String(decoding: buffered, as: UTF8.self))")
      }
    }
  }

  /// Reads everything until the server closes the connection. A reset counts as the end.
  public func readToEnd() async throws -> String {
    while try await receive() {}
    defer { buffered = [] }
    return String(decoding: buffered, as: UTF8.self)
  }

  /// Reads at least this many bytes and drops them.
  public func receive(atLeast count: Int) async throws {
    var taken = 0
    while taken < count {
      guard try await receive() else { throw Failure(description: "the server closed after \(taken) bytes more") }
      taken += buffered.count
      buffered = []
    }
    forgotten += taken
  }

  /// Reads up to this text and drops what it has read.
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

  /// Reads until all that has arrived contains this text, and returns it.
  public func text(with text: String) async throws -> String {
    while true {
      let all = String(decoding: buffered, as: UTF8.self)
      if all.contains(text) {
        buffered = []
        return all
      }
      guard try await receive() else { throw Failure(description: "the server closed; so far it sent: \(all)") }
    }
  }

  /// Reads up to the next line end and returns the line without it.
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

  /// The number of bytes that arrived in all, once the server has closed the connection.
  public func countToEnd() async throws -> Int {
    while try await receive() {
      forgotten += buffered.count
      buffered = []
    }
    return forgotten
  }

  /// Whether the server has closed the connection without sending anything more.
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
    throw Failure(description: "nothing arrived for five minutes")
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
