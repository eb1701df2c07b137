import LockstepClient
import LockstepTestSupport
import Synchronization

/// A network that sometimes loses requests, responses and streams, until it becomes reliable.
final class UnreliableNetwork: Sendable {
  struct Loss: Error, CustomStringConvertible {
    let description: String
  }

  private struct Contents: Sendable {
    var random: SeededNumbers
    var isReliable = true
  }

  private let contents: Mutex<Contents>

  init(seed: UInt64) { contents = Mutex(Contents(random: SeededNumbers(seed: seed))) }

  var isReliable: Bool {
    get { contents.withLock { $0.isReliable } }
    set { contents.withLock { $0.isReliable = newValue } }
  }

  fileprivate func lose(_ what: String, once times: Int) throws {
    let isLost = contents.withLock { contents in
      let isLost = contents.random.once(in: times)
      return isLost && !contents.isReliable
    }
    if isLost { throw Loss(description: "\(what) was lost") }
  }

  /// A random time. So the copy often lags behind the responses to writes.
  fileprivate func delay() async throws {
    let milliseconds = contents.withLock { $0.isReliable ? 0 : $0.random.below(4) * 30 }
    try await Task.sleep(for: .milliseconds(milliseconds))
  }
}

/// The transport of a client in such a network.
struct UnreliableTransport: StreamingTransport {
  let network: UnreliableNetwork
  let base: URLSessionTransport

  func response(to request: ClientRequest) async throws -> ClientResponse {
    try network.lose("the request", once: 5)
    let response = try await base.response(to: request)
    if request.target.hasPrefix("/v1/changes") { try await network.delay() }
    try network.lose("the response", once: 5)
    return response
  }

  func stream(of request: ClientRequest) async throws -> ClientStream {
    try network.lose("the request", once: 5)
    let stream = try await base.stream(of: request)
    let parts = AsyncThrowingStream<[UInt8], any Error> { [network] in
      for try await part in stream.parts {
        try await network.delay()
        try network.lose("the rest of the stream", once: 10)
        return part
      }
      return nil
    }
    return ClientStream(response: stream.response, parts: parts)
  }
}

/// A clock on which time passes faster, so that the pauses of a client are short.
struct FastClock: Clock {
  struct Instant: InstantProtocol {
    let offset: Duration

    func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
    func duration(to other: Instant) -> Duration { other.offset - offset }
    static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
  }

  private static let speed = 10
  private let start = ContinuousClock.now

  var now: Instant { Instant(offset: (ContinuousClock.now - start) * Self.speed) }
  var minimumResolution: Duration { .microseconds(10) }

  func sleep(until deadline: Instant, tolerance: Duration?) async throws {
    try await ContinuousClock().sleep(until: start + deadline.offset / Self.speed)
  }
}
