import CLockstepLinux
import Glibc
import LockstepHTTP

/// A socket that listens on one address. Each loop has its own; the kernel distributes connections.
struct ListeningSocket {
  let descriptor: Int32
  let address: PeerAddress
  /// The file of a Unix socket; nil for a socket with an address.
  private var file: UnixSocketFile?

  /// With `isShared`, other sockets of the same system user may listen on this port too.
  init(host: String, port: Int, isShared: Bool) throws(SystemError) {
    let address = PeerAddress(host: host, port: port)
    let purpose = "listen on \(address)"
    descriptor = try address.withResolved(flags: AI_PASSIVE, purpose: purpose) { info throws(SystemError) in
      try Self.open(info.pointee, isShared: isShared, purpose: purpose)
    }
    self.address = Self.localAddress(of: descriptor)
  }

  /// Listens on a Unix socket, to which only processes of this user and of root can connect. Replaces the socket
  /// of a server that was killed. So no other server may use this path.
  init(path: String) throws(SystemError) {
    let purpose = "listen on \(path)"
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { throw SystemError("socket", purpose: purpose) }
    do throws(SystemError) {
      // The kernel gives the file the permissions of the socket, so there is no moment with others.
      guard fchmod(descriptor, 0o600) == 0 else { throw SystemError("fchmod", purpose: purpose) }
      let path = UnixSocketPath(path)
      UnixSocketFile(at: path)?.remove()
      try path.withAddress(purpose: purpose) { address, length throws(SystemError) in
        guard bind(descriptor, address, length) == 0 else { throw SystemError("bind", purpose: purpose) }
      }
      file = UnixSocketFile(at: path)
      guard let file, file.isPrivate else {
        self.file?.remove()
        throw SystemError("bind", purpose: purpose, code: EPERM, reason: "its file would be open to other users")
      }
      guard listen(descriptor, 64) == 0 else {
        file.remove()
        throw SystemError("listen", purpose: purpose)
      }
    } catch {
      _ = Glibc.close(descriptor)
      throw error
    }
    self.descriptor = descriptor
    address = PeerAddress(host: path, port: 0)
  }

  /// Whether to serve an accepted connection. The file's permissions keep other users away already, except from a
  /// file system that ignores them.
  func admits(_ connection: Int32) -> Bool {
    guard file != nil else { return true }
    return [0, Int(geteuid())].contains(lockstep_peer_user(connection))
  }

  func close() {
    removeFile()
    _ = Glibc.close(descriptor)
  }

  /// Removes the file of a Unix socket, unless another server has replaced it.
  func removeFile() { file?.remove() }

  private static func open(_ info: addrinfo, isShared: Bool, purpose: String) throws(SystemError) -> Int32 {
    let type = info.ai_socktype | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
    let descriptor = socket(info.ai_family, type, 0)
    guard descriptor >= 0 else { throw SystemError("socket", purpose: purpose) }
    set(descriptor, SOL_SOCKET, SO_REUSEADDR, 1)
    if isShared { set(descriptor, SOL_SOCKET, SO_REUSEPORT, 1) }
    if info.ai_family == AF_INET6 { set(descriptor, Int32(IPPROTO_IPV6), IPV6_V6ONLY, 0) }
    guard bind(descriptor, info.ai_addr, info.ai_addrlen) == 0 else { throw closing(descriptor, "bind", purpose) }
    guard listen(descriptor, 4096) == 0 else { throw closing(descriptor, "listen", purpose) }
    return descriptor
  }

  private static func closing(_ descriptor: Int32, _ call: String, _ purpose: String) -> SystemError {
    let error = SystemError(call, purpose: purpose)
    _ = Glibc.close(descriptor)
    return error
  }

  private static func set(_ descriptor: Int32, _ level: Int32, _ option: Int32, _ value: Int32) {
    var value = value
    setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
  }

  private static func localAddress(of descriptor: Int32) -> PeerAddress {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    _ = withUnsafeMutablePointer(to: &storage) {
      // `sockaddr_storage` fits any socket address, and every one begins like `sockaddr`.
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
    }
    return PeerAddress(storage, length: length)
  }
}

extension PeerAddress {
  init(_ storage: sockaddr_storage, length: socklen_t) {
    guard storage.ss_family != sa_family_t(AF_UNIX) else {
      self = .process
      return
    }
    var storage = storage
    var host = [CChar](repeating: 0, count: Int(NI_MAXHOST))
    var port = [CChar](repeating: 0, count: Int(NI_MAXSERV))
    let (hostSize, portSize) = (socklen_t(host.count), socklen_t(port.count))
    let code = withUnsafePointer(to: &storage) {
      // See `localAddress`.
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        getnameinfo($0, length, &host, hostSize, &port, portSize, NI_NUMERICHOST | NI_NUMERICSERV)
      }
    }
    let texts = [host, port].map { text in
      String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
    guard code == 0 else {
      self.init(host: "unknown", port: 0)
      return
    }
    self.init(host: texts[0].hasPrefix("::ffff:") ? String(texts[0].dropFirst(7)) : texts[0], port: Int(texts[1]) ?? 0)
  }

  /// Looks the address up and calls `body` with the first result, which links to the others.
  func withResolved<Result>(
    flags: Int32,
    purpose: String,
    _ body: (UnsafeMutablePointer<addrinfo>) throws(SystemError) -> Result
  ) throws(SystemError) -> Result {
    var hints = addrinfo()
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    hints.ai_flags = flags | AI_NUMERICSERV
    var found: UnsafeMutablePointer<addrinfo>?
    let code = getaddrinfo(host, String(port), &hints, &found)
    guard code == 0, let first = found else {
      throw SystemError("getaddrinfo", purpose: purpose, code: code, reason: String(cString: gai_strerror(code)))
    }
    // The C library owns the list until it is freed here. Nothing of it outlives the call.
    defer { freeaddrinfo(first) }
    return try body(first)
  }
}
