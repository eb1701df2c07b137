import LockstepHTTP
import LockstepJSON
import LockstepReactor
import LockstepReactorTesting
import LockstepTestSupport
import Synchronization
import Testing

@testable import LockstepBuiltInScreens
@testable import LockstepComposition
@testable import LockstepCollections
@testable import LockstepHTTPClient
@testable import LockstepScreens
@testable import LockstepServerTestSupport

@Suite("The profile upstream", .timeLimit(.minutes(10)))
struct ProfileUpstreamTests {
  private static let user = Identifier<User>("01890a5d-ac96-774b-bcce-b302099a8057")

  private func profile(_ companyName: String? = "Ærø & Søn", _ position: String? = nil) throws -> OutgoingProfile {
    OutgoingProfile(
      user: try #require(Self.user),
      companyName: companyName,
      position: position,
      idempotencyKey: "key"
    )
  }

  /// Runs `body` with an upstream, which has been shut down when this returns.
  private func withUpstream(
    _ url: String,
    _ bounds: HTTPClient.Bounds = HTTPClient.Bounds(connectTime: .seconds(600), totalTime: .seconds(600)),
    _ body: (HTTPProfileUpstream) async throws -> Void
  ) async throws {
    var configuration = HTTPClient.Configuration(userAgent: "tests/1")
    configuration.usesProxies = false
    configuration.bounds = bounds
    let upstream = try HTTPProfileUpstream(try UpstreamURL(url), configuration)
    do {
      try await body(upstream)
    } catch {
      Issue.record(error)
    }
    await aside { upstream.shutDown() }
  }

  private func failure(_ upstream: some ProfileUpstream) async -> UpstreamError? {
    do throws(UpstreamError) {
      _ = try await upstream.send(
        OutgoingProfile(
          user: UserID(UUIDv7(milliseconds: 0, random12: 0, random62: 0)),
          companyName: "A",
          position: "B",
          idempotencyKey: "key"
        )
      )
      return nil
    } catch {
      return error
    }
  }

  @Test("It receives the user's id and the whole profile")
  func body() async throws {
    let seen = Mutex<[JSON]>([])
    try await LoopbackServer.run { request in
      let body = try await request.body.collect()
      try seen.withLock { $0.append(try JSON(parsing: body)) }
      return Response(status: .created)
    } _: { port in
      try await withUpstream("http://127.0.0.1:\(port)/hook") { upstream in
        _ = try await upstream.send(profile())
        _ = try await upstream.send(profile(nil, "\"Chief\"\n"))
        let id = "01890a5d-ac96-774b-bcce-b302099a8057"
        #expect(
          seen.withLock { $0 } == [
            ["user": .string(id), "companyName": "Ærø & Søn", "position": nil],
            ["user": .string(id), "companyName": nil, "position": "\"Chief\"\n"],
          ]
        )
      }
    }
  }

  /// Statuses, the resulting errors, and whether a retry makes sense.
  private static let statuses: [(status: Int, kind: UpstreamError.Kind?, mayPass: Bool)] = [
    (200, nil, false), (202, nil, false), (204, nil, false),
    (301, .refused(status: 301), false), (307, .refused(status: 307), false),
    (400, .refused(status: 400), false), (401, .refused(status: 401), false), (422, .refused(status: 422), false),
    (408, .refused(status: 408), true), (425, .refused(status: 425), true), (429, .refused(status: 429), true),
    (500, .failed(status: 500), true), (503, .failed(status: 503), true), (501, .failed(status: 501), true),
    (505, .failed(status: 505), true), (600, .failed(status: 600), false),
  ]

  @Test("A status 2xx accepts a profile, 3xx and 4xx refuse it, and any other is a failure", arguments: statuses)
  func status(status: Int, kind: UpstreamError.Kind?, mayPass: Bool) async throws {
    let server = try RawServer()
    try await withUpstream("http://who:s3cret@127.0.0.1:\(server.port)/s3cret") { upstream in
      async let responded: Void = aside { server.respondOnce("HTTP/1.1 \(status) X\r\nContent-Length: 0\r\n\r\n") }
      let failure = await failure(upstream)
      await responded
      #expect(failure?.kind == kind && (failure?.mayPass ?? false) == mayPass)
      guard let failure else { return }
      #expect(
        failure.detail.contains("http://127.0.0.1:\(server.port) responded with")
          && failure.detail.contains("\(status)")
      )
      #expect(!"\(failure) \(failure.message)".contains("s3cret"))
    }
  }

  @Test(
    "A refused connection, a timeout and a response that is too long are different errors, and later requests can succeed"
  )
  func recovers() async throws {
    let deaf = try RawServer(listens: false)
    try await withUpstream("http://127.0.0.1:\(deaf.port)/") { upstream in
      let failure = try #require(await failure(upstream))
      #expect(failure.kind == .unreachable && failure.mayPass)
    }
    let silent = try RawServer()
    try await withUpstream("http://127.0.0.1:\(silent.port)/", HTTPClient.Bounds(totalTime: .milliseconds(30))) {
      let failure = try #require(await failure($0))
      #expect(failure.kind == .timedOut && failure.mayPass)
    }
    let server = try RawServer()
    let long = "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n" + String(repeating: "x", count: 100_000)
    let broken = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"
    let cases: [(String, UpstreamError.Kind?)] = [
      (long, .failed(status: nil)), (broken, .unreachable), ("HTTP/1.1 204 No Content\r\n\r\n", nil),
    ]
    try await withUpstream("http://127.0.0.1:\(server.port)/") { upstream in
      for (response, kind) in cases {
        async let responded: Void = aside { server.respondOnce(response) }
        #expect(await failure(upstream)?.kind == kind)
        await responded
      }
    }
  }

  /// Bodies of responses, and the texts that they have.
  private static let bodies: [(body: String, accepted: AcceptedProfile)] = [
    ("", AcceptedProfile()), ("nonsense", AcceptedProfile()), ("[1]", AcceptedProfile()),
    (#"{"companyName":"A","position":null}"#, AcceptedProfile(companyName: "A")),
    (#"{"position":"B","more":1}"#, AcceptedProfile(position: "B")), (#"{"companyName":7}"#, AcceptedProfile()),
  ]

  @Test("The response may have the profile as it was accepted, and the request has the key", arguments: bodies)
  func accepted(body: String, accepted: AcceptedProfile) async throws {
    let keys = Mutex<[String?]>([])
    try await LoopbackServer.run { request in
      keys.withLock { $0.append(request.head["idempotency-key"]) }
      return Response(status: .ok, body: .bytes(Array(body.utf8)))
    } _: { port in
      try await withUpstream("http://127.0.0.1:\(port)/") { upstream in
        let response = try await upstream.send(profile())
        #expect(response == accepted)
        #expect(keys.withLock { $0 } == ["key"])
      }
    }
  }

  @Test("The upstream is unreachable after a request without a response, until it responds with any status")
  func reachability() async throws {
    let server = try RawServer()
    try await withUpstream("http://127.0.0.1:\(server.port)/") { upstream in
      #expect(upstream.reachability.current == .reachable)
      let long = "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n" + String(repeating: "x", count: 100_000)
      let steps: [(response: String, Reachability.Status)] = [
        ("", .unreachable), ("HTTP/1.1 500 X\r\n\r\n", .reachable), ("", .unreachable), (long, .reachable),
        ("SSH-2.0-x\r\n", .unreachable), ("HTTP/1.1 204 X\r\n\r\n", .reachable),
      ]
      for (response, status) in steps {
        async let responded: Void = aside { server.respondOnce(response) }
        _ = await failure(upstream)
        await responded
        #expect(upstream.reachability.current == status)
      }
    }
  }

  @Test("An upstream that could not be reached is asked, at growing intervals, until it responds with any status")
  func returns() async throws {
    let (server, clock) = (try RawServer(), VirtualClock())
    try await withUpstream("http://127.0.0.1:\(server.port)/") { upstream in
      upstream.watch(by: clock)
      async let refused: Void = aside { server.respondOnce("") }
      _ = await failure(upstream)
      await refused
      #expect(upstream.reachability.current == .unreachable)
      for (pause, response) in [(1, ""), (2, ""), (4, "HTTP/1.1 404 X\r\nContent-Length: 0\r\n\r\n")] {
        await eventually { clock.sleeperCount == 1 }
        clock.advance(by: .seconds(pause) - .milliseconds(1))
        #expect(clock.sleeperCount == 1, "The pause is not over.")
        async let responded: Void = aside { server.respondOnce(response) }
        clock.advance(by: .milliseconds(1))
        await responded
      }
      await eventually { upstream.reachability.current == .reachable }
    }
  }

  @Test("A request does not change the reachability if a request that was sent later has already ended")
  func olderRequest() async throws {
    let (server, hasArrived) = (try RawServer(), Latest(false))
    let url = "http://127.0.0.1:\(server.port)/"
    try await withUpstream(url) { upstream in
      let accepted = "HTTP/1.1 204 X\r\n\r\n"
      // The first connection breaks when the third one has a response.
      async let responded: Void = aside {
        server.respondOnce("") {
          hasArrived.publish(true)
          server.respondOnce(accepted)
          server.respondOnce(accepted)
        }
      }
      async let older = failure(upstream)
      await eventually { hasArrived.value }
      #expect(await failure(upstream) == nil)
      try await withUpstream(url) { other in #expect(await failure(other) == nil) }
      #expect(await older?.kind == .unreachable)
      await responded
      #expect(upstream.reachability.current == .reachable)
    }
  }

  @Test("Above the limit of requests, an error says so, and a cancelled task stops waiting")
  func overloaded() async throws {
    let silent = try RawServer()
    let bounds = HTTPClient.Bounds(connectTime: .seconds(600), totalTime: .seconds(600), transfers: 1)
    try await withUpstream("http://127.0.0.1:\(silent.port)/", bounds) { upstream in
      let hanging = Task { await failure(upstream) }
      await eventually { upstream.sending == 1 }
      let refused = try #require(await failure(upstream))
      #expect(refused.kind == .overloaded && refused.mayPass)
      hanging.cancel()
      let cancelled = try #require(await hanging.value)
      #expect(cancelled.kind == .cancelled && !cancelled.mayPass)
    }
  }

  @Test("Without an upstream every profile is accepted at once")
  func local() async throws {
    #expect(await failure(LocalProfileUpstream()) == nil)
  }

  @Test("Each failure has its own message for users")
  func messages() {
    let kinds: [UpstreamError.Kind] = [
      .unreachable, .timedOut, .refused(status: 400), .refused(status: 429), .failed(status: 500), .overloaded,
      .cancelled,
    ]
    let messages = kinds.map { UpstreamError($0, detail: "the machinery").message }
    #expect(Set(messages).count == kinds.count)
    #expect(messages.allSatisfy { $0.hasSuffix(".") && !$0.contains("machinery") })
    #expect(
      TransferError.Kind.allCases.map { UpstreamError(TransferError($0, "why")).detail }.allSatisfy {
        $0.hasPrefix("why (")
      }
    )
  }
}
