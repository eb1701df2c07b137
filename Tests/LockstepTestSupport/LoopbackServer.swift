import LockstepHTTP
import LockstepHTTPServer
import Testing

/// A small HTTP server on a free port of loopback, for tests of code that sends requests.
public enum LoopbackServer {
  /// Runs `body` with the port of a server that responds like this. The server has stopped when
  /// this returns.
  public static func run(
    respond: @escaping @Sendable (Request) async throws -> Response,
    _ body: (Int) async throws -> Void
  ) async throws {
    var configuration = Server.Configuration()
    // Longer than any test, because a client's thread may be paused for long.
    configuration.limits.headTime = .seconds(3_600)
    configuration.limits.bodyGrace = .seconds(3_600)
    configuration.limits.idleTime = .seconds(3_600)
    configuration.limits.outputStall = .seconds(3_600)
    let server = try Server(configuration)
    try server.start { request in .async { .response(try await respond(request)) } }
    do {
      try await body(server.address.port)
    } catch {
      Issue.record(error)
    }
    server.drain()
    await aside { server.join() }
  }
}

extension Server {
  /// Starts to serve requests, with one responder for all loops.
  package func start(respond: @escaping Responder) throws {
    try start(noteRefusal: { _ in }, responderOfLoop: { _ in respond })
  }
}
