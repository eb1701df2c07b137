import LockstepHTTP
import LockstepHTTPServer
import LockstepTestSupport
import Testing

/// A server on a free port of loopback. It runs as long as the body of a test.
struct TestServer {
  let server: Server
  let time: ManualTime

  var port: Int { server.address.port }

  func connect(receiveBuffer: Int32? = nil, source: UInt32 = 1) throws -> RawClient {
    try RawClient(port: port, receiveBuffer: receiveBuffer, source: source)
  }

  /// Advances the clock and makes the server read it.
  func advance(by seconds: Double) {
    time.advance(by: seconds)
    server.lookAtClock()
  }

  /// Runs `body` with a server whose handler is asynchronous. The server has stopped when this
  /// returns.
  static func run(
    loops: Int = 1,
    _ change: (inout Limits) -> Void = { _ in },
    respond: @escaping @Sendable (Request) async throws -> Response,
    _ body: (TestServer) async throws -> Void
  ) async throws {
    try await run(
      loops: loops,
      change,
      responder: { request in .async { .response(try await respond(request)) } },
      body
    )
  }

  /// Runs `body` with a server that responds like this. The server has stopped when this returns.
  static func run(
    loops: Int = 1,
    _ change: (inout Limits) -> Void = { _ in },
    responder: @escaping Responder,
    _ body: (TestServer) async throws -> Void
  ) async throws {
    var configuration = Server.Configuration()
    configuration.loops = loops
    change(&configuration.limits)
    let time = ManualTime()
    let server = try Server(configuration, time: time.serverTime)
    try server.start(respond: responder)
    do {
      try await body(TestServer(server: server, time: time))
    } catch {
      Issue.record(error)
    }
    await stop(server)
  }
}

/// Drains a server and waits until it has stopped. It blocks no thread that the handlers may need.
func stop(_ server: Server) async {
  server.drain()
  await ended(server)
}

/// Waits until a drained server has stopped.
func ended(_ server: Server) async {
  await aside { server.join() }
}

extension Response {
  static func text(_ text: String) -> Response {
    Response(status: .ok, body: .bytes(Array(text.utf8)))
  }
}

/// Responds with the method, the path and the body, so that a test sees what arrived.
func echo(_ request: Request) async -> Response {
  do {
    let body = try await request.body.collect()
    return .text("\(request.head.method.name) \(request.head.path) \(String(decoding: body, as: UTF8.self))")
  } catch let problem as Problem {
    return problem.response
  } catch {
    return Problem(.internal).response
  }
}
