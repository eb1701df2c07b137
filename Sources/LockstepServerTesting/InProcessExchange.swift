import LockstepComposition
import LockstepClient
import LockstepHTTP
import LockstepReactor
import LockstepReactorTesting
import LockstepTime

/// One request and its response, without a connection.
struct InProcessExchange: Sendable {
  private let server: SocketlessServer
  private let clock: VirtualClock

  init(_ server: SocketlessServer, _ clock: VirtualClock) { (self.server, self.clock) = (server, clock) }

  func response(to request: ClientRequest) async throws -> ClientResponse {
    var result = server.respond(to: try Self.request(request, at: VirtualTime.monotonic(clock)))
    while true {
      switch result {
      case .response(let response): return try await read(response)
      case .reusable(var response, let validity):
        response.fields.append(contentsOf: validity.fields)
        return try await read(response)
      case .async(let work):
        do {
          result = try await work()
        } catch {
          result = .response((error as? Problem ?? Problem(.internal)).response)
        }
      case .parked(let request): result = await wait(for: request)
      case .eventStream: throw ClientFailure("ServerInProcess has no event streams.")
      }
    }
  }

  private static func request(_ request: ClientRequest, at arrival: Int64) throws -> Request {
    let body = request.body ?? []
    var head = "\(request.method) \(request.target) HTTP/1.1\r\nHost: lockstep.test\r\n"
    if request.body != nil { head += "Content-Length: \(body.count)\r\n" }
    for (name, value) in request.fields.sorted(by: { $0.key < $1.key }) { head += "\(name): \(value)\r\n" }
    head += "\r\n"
    var parser = RequestParser(limits: Limits())
    let outcome = try Array(head.utf8).withUnsafeBytes { try parser.parse($0) }
    guard case .head(let parsed, _) = outcome else { throw ClientFailure("The request is not valid in HTTP/1.1.") }
    let peer = PeerAddress(host: "127.0.0.1", port: 1)
    return Request(head: parsed, body: .bytes(body), peer: peer, arrival: arrival, loop: 0)
  }

  /// Waits until the server wakes the request, its time is over, or the client cancels it.
  private func wait(for request: any ParkedRequest) async -> HandlerResult {
    let waker = InProcessWaker()
    let deadline = VirtualTime.instant(of: request.deadline)
    request.park(waker)
    let cause = await withTaskGroup(of: WakeReason.self) { [clock] group in
      group.addTask {
        for await count in waker.count.values where count > 0 { return .woken }
        return .leaving
      }
      group.addTask {
        do { try await clock.sleep(until: deadline) } catch { return .leaving }
        return .timeOver
      }
      defer { group.cancelAll() }
      return await group.next() ?? .leaving
    }
    request.unpark()
    return request.resume(cause)
  }

  private func read(_ response: Response) async throws -> ClientResponse {
    let body: [UInt8]
    if case .stream(_, let write) = response.body {
      let writer = CollectingWriter()
      try await write(writer)
      body = writer.bytes
    } else {
      body = response.body.joined ?? []
    }
    var fields: [String: String] = [:]
    for (name, value) in response.fields.all { fields[name, default: ""] += fields[name] == nil ? value : ", \(value)" }
    // The event loops of a server with connections add this field.
    let now = VirtualTime.source(clock).millisecondsSince1970()
    let line = HTTPDate.field(secondsSince1970: Int(now / 1_000))
    fields["Date"] = String(decoding: line.dropFirst("Date: ".utf8.count).dropLast(2), as: UTF8.self)
    return ClientResponse(status: response.status.code, fields: fields, body: body)
  }
}

/// Wakes a request that waits. It is its own event loop.
private final class InProcessWaker: Waker, WakeTarget {
  let count = Latest(0)

  func wake() { count.publish(count.value + 1) }
  func join(_ batch: inout WakeBatch) { batch.add(0, of: self) }
  func wake(_ tokens: [UInt64]) { wake() }
}
