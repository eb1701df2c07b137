import Glibc

/// A socket on loopback that behaves as no HTTP server should: it may refuse connections, and it
/// sends any text.
public final class RawServer: Sendable {
  /// The server's port.
  public let port: Int
  private let descriptor: Int32

  /// Binds a free port. If the socket does not listen, connections are refused, and no other
  /// program can take the port. The queue holds one connection more than `backlog` that is not
  /// accepted. Further clients have to wait, and the system refuses them after some minutes.
  public init(listens: Bool = true, backlog: Int32 = 0) throws {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    self.descriptor = descriptor
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, length) == 0 && getsockname(descriptor, $0, &length) == 0
      }
    }
    guard isBound, !listens || listen(descriptor, backlog) == 0 else {
      throw ChildProcess.Failure(description: "a socket of loopback: errno \(errno)")
    }
    port = Int(in_port_t(bigEndian: address.sin_port))
  }

  deinit { close(descriptor) }

  /// Accepts one connection, waits until something arrives, runs `work`, sends this text and closes.
  /// Blocks the thread.
  public func respondOnce(_ text: String, after work: () -> Void = {}) {
    acceptOnce { connection in
      var bytes = [UInt8](repeating: 0, count: 65_536)
      _ = recv(connection, &bytes, bytes.count, 0)
      // Unread input would turn the close into a reset, which can overtake the response.
      while recv(connection, &bytes, bytes.count, Int32(MSG_DONTWAIT)) > 0 {}
      work()
      let response = Array(text.utf8)
      _ = send(connection, response, response.count, Int32(MSG_NOSIGNAL))
    }
  }

  /// Accepts one connection, passes its descriptor to `body`, and closes it. Blocks the thread.
  public func acceptOnce(_ body: (Int32) -> Void) {
    let connection = accept(descriptor, nil, nil)
    guard connection >= 0 else { return }
    body(connection)
    close(connection)
  }

  /// Lets `acceptOnce` return if no client has connected. An accepted connection goes on.
  public func stopAccepting() {
    shutdown(descriptor, Int32(SHUT_RDWR))
  }

  /// Whether a client has connected that was not accepted.
  public var hasClient: Bool {
    var state = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return poll(&state, 1, 0) == 1
  }
}
