import Glibc
import LockstepTestSupport
import LockstepThreading
import Testing

@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport

/// A proxy between a server and the database, which can hold back what the database sends.
final class DatabaseProxy: Sendable {
  private struct Contents: Sendable {
    var links: [Link] = []
    var holdsResponses = false
  }

  /// A connection of the server, and the proxy's own connection to the database.
  private final class Link: Sendable {
    let server: Int32
    let database: Int32

    init(server: Int32, database: Int32) { (self.server, self.database) = (server, database) }

    deinit {
      close(server)
      close(database)
    }

    func end() {
      shutdown(server, Int32(SHUT_RDWR))
      shutdown(database, Int32(SHUT_RDWR))
    }
  }

  private let folder: TemporaryDirectory
  private let listener: Int32
  private let contents = LockedState(Contents())

  /// Runs `body` with a proxy to the server of the tests, which must be reached by a Unix socket.
  static func run(_ body: (DatabaseProxy) async throws -> Void) async throws {
    let proxy = try DatabaseProxy(to: try #require(TestedStore.anyServer))
    let contents = proxy.contents
    let (listener, database) = (proxy.listener, try proxy.databaseSocket())
    let thread = try NamedThread(name: "proxy") { Self.serve(listener, database, contents) }
    do {
      try await body(proxy)
    } catch {
      Issue.record(error)
    }
    shutdown(listener, Int32(SHUT_RDWR))
    await aside { thread.join() }
    proxy.cut()
  }

  private init(to server: String) throws {
    folder = try TemporaryDirectory()
    listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    let isBound = Self.withAddress(folder.file(".s.PGSQL.5432")) { bind(listener, $0, $1) == 0 }
    try #require(isBound && listen(listener, 64) == 0)
  }

  deinit { close(listener) }

  private func databaseSocket() throws -> String {
    let server = try #require(TestedStore.anyServer)
    let host = try #require(server.split(separator: " ").first { $0.hasPrefix("host=/") }).dropFirst("host=".count)
    return "\(host)/.s.PGSQL.5432"
  }

  /// The connection string of a server that connects through the proxy.
  func string(for connectionString: String) -> String {
    connectionString.split(separator: " ").filter { !$0.hasPrefix("host=") }.joined(separator: " ")
      + " host=\(folder.path)"
  }

  /// From now on, nothing that the database sends arrives.
  func holdResponses() { contents.withLock { $0.holdsResponses = true } }

  /// Ends all connections. Bytes that were held back are lost. New connections can be made.
  func cut() {
    let links = contents.withLock { contents in
      defer { contents.links = [] }
      return contents.links
    }
    for link in links { link.end() }
    contents.withLock { $0.holdsResponses = false }
    contents.wakeAll()
  }

  private static func serve(_ listener: Int32, _ database: String, _ contents: LockedState<Contents>) {
    while true {
      let server = Glibc.accept(listener, nil, nil)
      guard server >= 0 else { return }
      let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
      let link = Link(server: server, database: descriptor)
      guard withAddress(database, { connect(descriptor, $0, $1) == 0 }) else { continue }
      contents.withLock { $0.links.append(link) }
      let threads = [
        try? NamedThread(name: "to-database") { forward(link, from: link.server, to: link.database) {} },
        try? NamedThread(name: "from-database") {
          forward(link, from: link.database, to: link.server) {
            contents.wait { $0.holdsResponses ? nil : () }
          }
        },
      ]
      for thread in threads { thread?.detach() }
    }
  }

  /// Sends everything on that arrives. Waits for `permission` before each part.
  private static func forward(_ link: Link, from source: Int32, to target: Int32, permission: () -> Void) {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = recv(source, &buffer, buffer.count, 0)
      guard count > 0 else { break }
      permission()
      var sent = 0
      while sent < count {
        let more = buffer[sent..<count].withUnsafeBytes { send(target, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
        guard more > 0 else { return link.end() }
        sent += more
      }
    }
    link.end()
  }

  private static func withAddress<Result>(
    _ path: String,
    _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
  ) -> Result {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    // The last byte stays 0.
    withUnsafeMutableBytes(of: &address.sun_path) { $0.dropLast().copyBytes(from: path.utf8.prefix($0.count - 1)) }
    return withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_un>.size)) }
    }
  }
}
