import CLockstepLinux
import Glibc

/// Sends a request to the Unix socket of a server, and blocks until the response is complete.
package struct UnixSocketClient {
  package typealias Response = BlockingHTTPClient.Response

  /// How long the client waits between two calls of `whileWaiting`, in milliseconds.
  private static let interval: Int32 = 50
  /// The most bytes of a response.
  private static let longest = 64 * 1024 * 1024

  private let socket: Socket
  private let purpose: String

  /// Sends a request with the field `Connection: close`. `whileWaiting` is called about every 50 ms, and ends the
  /// exchange with its error.
  ///
  /// `owner` is the user that the socket must be of, besides root and the user of this process. Otherwise, a user who
  /// may write to the folder could read what this process sends.
  ///
  /// Throws `SystemError` if no server listens or the connection is lost. If the call in the error is `connect`, the
  /// server has not got the request.
  package static func send(
    _ request: [UInt8],
    to path: String,
    of owner: uid_t,
    whileWaiting: () throws -> Void
  ) throws -> Response {
    let purpose = "send a request to \(path)"
    let socket = try UnixSocketPath(path).withAddress(purpose: purpose) { address, length throws(SystemError) in
      try connect(address, length, purpose)
    }
    defer { socket.close() }
    let peer = lockstep_peer_user(socket.descriptor)
    guard [0, Int(geteuid()), Int(owner)].contains(peer) else {
      throw SystemError("connect", purpose: purpose, code: EPERM, reason: "it is the socket of another user (\(peer))")
    }
    return try UnixSocketClient(socket: socket, purpose: purpose).exchange(request, whileWaiting)
  }

  private static func connect(
    _ address: UnsafePointer<sockaddr>,
    _ length: socklen_t,
    _ purpose: String
  ) throws(SystemError) -> Socket {
    let type = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
    let descriptor = Glibc.socket(AF_UNIX, type, 0)
    guard descriptor >= 0 else { throw SystemError("connect", purpose: purpose) }
    guard Glibc.connect(descriptor, address, length) == 0 else {
      let error = SystemError("connect", purpose: purpose)
      close(descriptor)
      throw error
    }
    return Socket(descriptor: descriptor)
  }

  private func exchange(_ request: [UInt8], _ whileWaiting: () throws -> Void) throws -> Response {
    var rest = request[...]
    while !rest.isEmpty {
      try wait(for: POLLOUT, whileWaiting)
      switch rest.withUnsafeBytes({ socket.write($0) }) {
      case .bytes(let count): rest = rest.dropFirst(count)
      case .wouldBlock: break
      case .end, .broken: throw SystemError("send", purpose: purpose)
      }
    }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 64 * 1024)
    while true {
      try wait(for: POLLIN, whileWaiting)
      switch buffer.withUnsafeMutableBytes({ socket.read(into: $0) }) {
      case .bytes(let count): bytes.append(contentsOf: buffer[..<count])
      case .wouldBlock: break
      case .end: return try complete(bytes)
      case .broken: throw SystemError("recv", purpose: purpose)
      }
      guard bytes.count <= Self.longest else { throw SystemError("recv", purpose: purpose, code: EMSGSIZE) }
    }
  }

  private func wait(for events: Int32, _ whileWaiting: () throws -> Void) throws {
    var entry = pollfd(fd: socket.descriptor, events: Int16(events), revents: 0)
    repeat { try whileWaiting() } while poll(&entry, 1, Self.interval) <= 0
  }

  /// The response in all bytes of the connection. Throws if the server has ended the connection early.
  private func complete(_ bytes: [UInt8]) throws(SystemError) -> Response {
    let response = try Response(parsing: bytes, purpose: purpose)
    let head = String(decoding: bytes.dropLast(response.body.utf8.count), as: UTF8.self).lowercased()
    let length = head.firstMatch(of: /\r\ncontent-length: *([0-9]+)\r\n/).flatMap { Int($0.1) }
    guard length ?? 0 == response.body.utf8.count else {
      throw SystemError("recv", purpose: purpose, code: EPROTO, reason: "the response is not complete")
    }
    return response
  }
}
