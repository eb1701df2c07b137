import CLockstepLinux
import Glibc
import LockstepHTTP
import LockstepTime

/// Asks a server one thing, over a socket of its own and with nothing else running: for a program that looks whether a
/// server is there and ends, which must start fast.
public enum BlockingHTTPClient {
  /// What the server said.
  public struct HandlerResult: Sendable, Equatable {
    /// The status code.
    public let status: Int
    /// The body's beginning, of at most 64 KiB with the head before it.
    public let body: String
  }

  /// How much of an answer is read.
  private static let limit = 64 * 1024

  /// The answer to a `GET`.
  ///
  /// - Parameters:
  ///   - target: The path, of characters that a request line takes.
  ///   - host: A name or an address. Looking a name up isn't bounded by `time`.
  ///   - port: The port.
  ///   - time: How long all else may take.
  ///   - monotonic: A clock that never goes back, in nanoseconds, at the pace of the system's own.
  /// - Returns: The answer.
  /// - Throws: `SystemError`: which call failed, or that the time is over, or that what came is no HTTP.
  public static func get(
    _ target: String,
    host: String,
    port: Int,
    within time: Duration,
    monotonic: () -> Int64
  ) throws(SystemError) -> HandlerResult {
    let address = PeerAddress(host: host, port: port)
    let purpose = "ask http://\(address)\(target)"
    let deadline = monotonic() + time.wholeNanoseconds
    let socket = try connect(address, purpose, deadline, monotonic)
    defer { socket.close() }
    let request = "GET \(target) HTTP/1.1\r\nHost: \(address)\r\nConnection: close\r\n\r\n"
    var rest = Array(request.utf8)[...]
    while !rest.isEmpty {
      switch rest.withUnsafeBytes({ socket.write($0) }) {
      case .bytes(let count): rest = rest.dropFirst(count)
      case .wouldBlock: try wait(for: socket, POLLOUT, purpose, deadline, monotonic)
      case .end, .broken: throw SystemError("send", purpose: purpose)
      }
    }
    return try answer(from: socket, purpose, deadline, monotonic)
  }

  /// Tries all addresses of a name, one after the other, as `localhost` may have one that nobody listens on.
  private static func connect(
    _ address: PeerAddress,
    _ purpose: String,
    _ deadline: Int64,
    _ monotonic: () -> Int64
  ) throws(SystemError) -> Socket {
    var hints = addrinfo()
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    hints.ai_flags = AI_NUMERICSERV
    var found: UnsafeMutablePointer<addrinfo>?
    let code = getaddrinfo(address.host, String(address.port), &hints, &found)
    guard code == 0, let first = found else {
      throw SystemError("getaddrinfo", purpose: purpose, code: code, reason: String(cString: gai_strerror(code)))
    }
    // The list is the C library's until it's freed here; nothing of it outlives this function.
    defer { freeaddrinfo(first) }
    var next: UnsafeMutablePointer<addrinfo>? = first
    var failure = SystemError("connect", purpose: purpose, code: ECONNREFUSED)
    while let info = next?.pointee {
      do throws(SystemError) {
        return try connect(info, purpose, deadline, monotonic)
      } catch {
        failure = error
      }
      next = info.ai_next
    }
    throw failure
  }

  private static func connect(
    _ info: addrinfo,
    _ purpose: String,
    _ deadline: Int64,
    _ monotonic: () -> Int64
  ) throws(SystemError) -> Socket {
    let type = info.ai_socktype | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
    let descriptor = Glibc.socket(info.ai_family, type, 0)
    guard descriptor >= 0 else { throw SystemError("socket", purpose: purpose) }
    let socket = Socket(descriptor: descriptor)
    do throws(SystemError) {
      if Glibc.connect(descriptor, info.ai_addr, info.ai_addrlen) == 0 { return socket }
      guard errno == EINPROGRESS else { throw SystemError("connect", purpose: purpose) }
      try wait(for: socket, POLLOUT, purpose, deadline, monotonic)
      var error: Int32 = 0
      var length = socklen_t(MemoryLayout<Int32>.size)
      getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &length)
      if error != 0 { throw SystemError("connect", purpose: purpose, code: error) }
      return socket
    } catch {
      socket.close()
      throw error
    }
  }

  private static func answer(
    from socket: Socket,
    _ purpose: String,
    _ deadline: Int64,
    _ monotonic: () -> Int64
  ) throws(SystemError) -> HandlerResult {
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    reading: while bytes.count < limit {
      switch buffer.withUnsafeMutableBytes({ socket.read(into: $0) }) {
      case .bytes(let count): bytes.append(contentsOf: buffer[..<count])
      case .wouldBlock: try wait(for: socket, POLLIN, purpose, deadline, monotonic)
      case .end: break reading
      case .broken: throw SystemError("recv", purpose: purpose)
      }
    }
    let text = String(decoding: bytes, as: UTF8.self)
    let words = text.prefix { $0 != "\r\n" && $0 != "\n" }.split(separator: " ", maxSplits: 2)
    guard words.count >= 2, words[0].hasPrefix("HTTP/1."), let status = Int(words[1]) else {
      throw SystemError("recv", purpose: purpose, code: EPROTO, reason: "what answers there speaks no HTTP")
    }
    return HandlerResult(status: status, body: body(of: text))
  }

  /// What is behind the first empty line. To Swift a carriage return and a line feed are one character.
  private static func body(of text: String) -> String {
    var rest = text[...]
    while let end = rest.firstIndex(of: "\r\n") {
      let isHeadsEnd = end == rest.startIndex
      rest = rest[rest.index(after: end)...]
      if isHeadsEnd { return String(rest) }
    }
    return ""
  }

  private static func wait(
    for socket: Socket,
    _ event: Int32,
    _ purpose: String,
    _ deadline: Int64,
    _ monotonic: () -> Int64
  ) throws(SystemError) {
    var entry = pollfd(fd: socket.descriptor, events: Int16(event), revents: 0)
    while true {
      let left = deadline - monotonic()
      // Rounded up, so that the last part of a millisecond isn't spent turning round.
      let count = left > 0 ? poll(&entry, 1, Int32(clamping: (left + 999_999) / 1_000_000)) : 0
      if count > 0 { return }
      if count == 0 {
        throw SystemError("poll", purpose: purpose, code: ETIMEDOUT, reason: "no answer within the time-out")
      }
      guard errno == EINTR else { throw SystemError("poll", purpose: purpose) }
    }
  }
}
