import CLockstepLinux
import Glibc
import LockstepHTTP
import LockstepTime

/// Sends one request without an event loop, so that a health check starts fast.
package struct BlockingHTTPClient {
  package struct Response: Sendable, Equatable {
    package let status: Int
    /// The beginning of the body: at most 64 KiB together with the head.
    package let body: String
  }

  private let purpose: String
  private let deadline: Int64
  private let monotonic: () -> Int64

  /// Sends a `GET` and returns the response. `time` limits everything except name resolution.
  package static func get(
    _ target: String,
    host: String,
    port: Int,
    within time: Duration,
    monotonic: @escaping () -> Int64
  ) throws(SystemError) -> Response {
    let address = PeerAddress(host: host, port: port)
    let purpose = "send a request to http://\(address)\(target)"
    let client = Self(purpose: purpose, deadline: monotonic() + time.wholeNanoseconds, monotonic: monotonic)
    let socket = try address.withResolved(flags: 0, purpose: purpose, client.connect)
    defer { socket.close() }
    try client.send("GET \(target) HTTP/1.1\r\nHost: \(address)\r\nConnection: close\r\n\r\n", to: socket)
    return try client.response(from: socket)
  }

  /// Tries all addresses of a name in turn, because the server may listen on only one address of
  /// `localhost`.
  private func connect(_ first: UnsafeMutablePointer<addrinfo>) throws(SystemError) -> Socket {
    var next: UnsafeMutablePointer<addrinfo>? = first
    var failure = SystemError("connect", purpose: purpose, code: ECONNREFUSED)
    while let info = next?.pointee {
      do throws(SystemError) { return try connect(info) } catch { failure = error }
      next = info.ai_next
    }
    throw failure
  }

  private func connect(_ info: addrinfo) throws(SystemError) -> Socket {
    let descriptor = Glibc.socket(info.ai_family, info.ai_socktype | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { throw SystemError("socket", purpose: purpose) }
    let socket = Socket(descriptor: descriptor)
    do throws(SystemError) {
      try limitTime(of: socket)
      if Glibc.connect(descriptor, info.ai_addr, info.ai_addrlen) == 0 { return socket }
      throw errno == EINPROGRESS ? timedOut : SystemError("connect", purpose: purpose)
    } catch {
      socket.close()
      throw error
    }
  }

  /// Limits the next system call to the time that is left.
  private func limitTime(of socket: Socket) throws(SystemError) {
    let left = deadline - monotonic()
    guard left > 0 else { throw timedOut }
    // Not 0, which would mean no limit.
    var time = timeval(tv_sec: Int(left / 1_000_000_000), tv_usec: max(1, Int(left % 1_000_000_000 / 1000)))
    for option in [SO_SNDTIMEO, SO_RCVTIMEO] {
      setsockopt(socket.descriptor, SOL_SOCKET, option, &time, socklen_t(MemoryLayout<timeval>.size))
    }
  }

  private var timedOut: SystemError {
    SystemError("connect", purpose: purpose, code: ETIMEDOUT, reason: "no response within the time limit")
  }

  private func send(_ request: String, to socket: Socket) throws(SystemError) {
    var rest = Array(request.utf8)[...]
    while !rest.isEmpty {
      try limitTime(of: socket)
      switch rest.withUnsafeBytes({ socket.write($0) }) {
      case .bytes(let count): rest = rest.dropFirst(count)
      case .wouldBlock: break
      case .end, .broken: throw SystemError("send", purpose: purpose)
      }
    }
  }

  private func response(from socket: Socket) throws(SystemError) -> Response {
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    reading: while bytes.count < 64 * 1024 {
      try limitTime(of: socket)
      switch buffer.withUnsafeMutableBytes({ socket.read(into: $0) }) {
      case .bytes(let count): bytes.append(contentsOf: buffer[..<count])
      case .wouldBlock: break
      case .end: break reading
      case .broken: throw SystemError("recv", purpose: purpose)
      }
    }
    return try Response(parsing: bytes, purpose: purpose)
  }
}

extension BlockingHTTPClient.Response {
  /// Parses a response. The body may be incomplete.
  init(parsing bytes: [UInt8], purpose: String) throws(SystemError) {
    let text = String(decoding: bytes, as: UTF8.self)
    let words = text.prefix { $0 != "\r\n" && $0 != "\n" }.split(separator: " ", maxSplits: 2)
    guard words.count >= 2, words[0].hasPrefix("HTTP/1."), let status = Int(words[1]) else {
      throw SystemError("recv", purpose: purpose, code: EPROTO, reason: "the response is not HTTP")
    }
    let lines = text.split(separator: "\r\n", omittingEmptySubsequences: false)
    let head = lines.prefix { !$0.isEmpty }
    self.init(status: status, body: lines.dropFirst(head.count + 1).joined(separator: "\r\n"))
  }
}
