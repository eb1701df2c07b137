import Glibc
import LockstepHTTP
import LockstepTestSupport
import Testing

@testable import LockstepHTTPServer

@Suite("A server on a Unix socket", .timeLimit(.minutes(10)))
struct UnixSocketTests {
  private struct Interrupted: Error {}

  private let folder: TemporaryDirectory

  init() throws {
    folder = try TemporaryDirectory()
  }

  private static func server(_ path: String) throws(SystemError) -> Server {
    var configuration = Server.Configuration()
    configuration.socketPath = path
    return try Server(configuration)
  }

  /// Runs `body` while a server responds with the name of the client and the body of the request.
  private static func serve(_ path: String, _ body: () async throws -> Void) async throws {
    let server = try server(path)
    try server.start { request in
      .async {
        let body = String(decoding: try await request.body.collect(), as: UTF8.self)
        return .response(Response(status: .ok, body: .bytes(Array("\(request.peer.host): \(body)".utf8))))
      }
    }
    do { try await body() } catch { Issue.record(error) }
    server.drain()
    await aside { server.join() }
  }

  private static func send(
    _ body: String,
    to path: String,
    of owner: uid_t = geteuid(),
    whileWaiting: @escaping @Sendable () throws -> Void = {}
  ) async throws -> UnixSocketClient.Response {
    let request = "POST / HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
    return try await valueAside {
      try UnixSocketClient.send(Array(request.utf8), to: path, of: owner, whileWaiting: whileWaiting)
    }
  }

  private static func status(_ path: String) -> stat? {
    var status = stat()
    return lstat(path, &status) == 0 ? status : nil
  }

  @Test("It serves requests of any length, its file is its owner's alone, and the file goes when it stops")
  func requests() async throws {
    let path = folder.file("a-socket")
    try await Self.serve(path) {
      #expect(Self.status(path).map { $0.st_mode } == S_IFSOCK | 0o600)
      for length in [0, 5, 900_000] {
        let text = String(repeating: "x", count: length)
        let response = try await Self.send(text, to: path)
        #expect(response.status == 200)
        #expect(response.body == "socket: \(text)")
      }
    }
    #expect(Self.status(path) == nil)
  }

  @Test("Its path may be longer than an address of the kernel")
  func longPath() async throws {
    let deep = folder.file(String(repeating: "d", count: 120))
    try #require(mkdir(deep, 0o700) == 0)
    let path = "\(deep)/a-socket"
    try await Self.serve(path) {
      #expect(Self.status(path) != nil)
      let response = try await Self.send("hello", to: path)
      #expect(response.body == "socket: hello")
    }
    #expect(Self.status(path) == nil)
  }

  @Test("The socket of a killed server is replaced, and no other file is")
  func files() async throws {
    let path = folder.file("a-socket")
    // The file of a socket stays when its descriptor is closed.
    let old = try ListeningSocket(path: path)
    _ = close(old.descriptor)
    #expect(Self.status(path) != nil)
    try await Self.serve(path) {
      // The old socket has lost its file, so it must not remove the one of its successor.
      old.removeFile()
      let response = try await Self.send("hello", to: path)
      #expect(response.body == "socket: hello")
    }
    try folder.write([7], to: "a-socket")
    #expect(throws: SystemError.self) { try Self.server(path) }
    #expect(try folder.contents(of: "a-socket") == [7])
    unlink(path)
    symlink(folder.file("elsewhere"), path)
    #expect(throws: SystemError.self) { try Self.server(path) }
    #expect(Self.status(folder.file("elsewhere")) == nil)
    #expect(throws: SystemError.self) { try Self.server(folder.file("nowhere/a-socket")) }
  }

  @Test("Without a server the client fails to connect, and a lost response is another error")
  func lost() async throws {
    let path = folder.file("a-socket")
    var error = await #expect(throws: SystemError.self) { try await Self.send("", to: path) }
    #expect(error?.call == "connect" && error?.code == ENOENT)
    let killed = try ListeningSocket(path: path)
    let response = Task { try await Self.send("", to: path) }
    await aside {
      var entry = pollfd(fd: killed.descriptor, events: Int16(POLLIN), revents: 0)
      _ = poll(&entry, 1, -1)
      _ = close(accept(killed.descriptor, nil, nil))
      _ = close(killed.descriptor)
    }
    error = await #expect(throws: SystemError.self) { try await response.value }
    #expect(error?.call != "connect")
    error = await #expect(throws: SystemError.self) { try await Self.send("", to: path) }
    #expect(error?.call == "connect" && error?.code == ECONNREFUSED)
  }

  @Test("A client that waits for a server that hangs can be interrupted")
  func interrupted() async throws {
    let path = folder.file("a-socket")
    let hanging = try ListeningSocket(path: path)
    defer { hanging.close() }
    await #expect(throws: Interrupted.self) { try await Self.send("", to: path) { throw Interrupted() } }
  }
}
