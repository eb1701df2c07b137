import LockstepCollections
import LockstepHTTP
import LockstepJSON
import LockstepLogging
import LockstepTestSupport
import LockstepThreading
import LockstepTime
import Testing

@testable import LockstepStore
@testable import LockstepWebhooks

@Suite("Sending to receivers", .timeLimit(.minutes(10)))
struct WebhookSenderTests {
  private static let secret = WebhookSecret.make()

  private static func outgoing(to url: String) -> OutgoingDelivery {
    let now = Timestamp(millisecondsSince1970: 1_800_000_000_000)
    let delivery = ClaimedDelivery(
      webhook: WebhookID(1),
      user: DeliveryFixture.user(1),
      number: 1,
      id: WebhookEventID(UUIDv7(milliseconds: 1, random12: 2, random62: 3)),
      type: "state.changed",
      data: "{}",
      createdAt: now,
      attempts: 0,
      claim: 1
    )
    let webhook = WebhookRecord(
      id: WebhookID(1),
      name: "main",
      url: url,
      events: [.stateChanged],
      secret: secret.text,
      createdAt: now
    )
    return OutgoingDelivery(delivery: delivery, data: ["revision": 7], webhook: webhook, at: now)
  }

  private static func send(
    to url: String,
    allowsPrivateAddresses: Bool = true,
    timeOut: Duration = .seconds(600)
  ) async -> AttemptOutcome {
    let sender = WebhookSender(
      userAgent: "lockstep/test",
      allowsPrivateAddresses: allowsPrivateAddresses,
      timeOut: timeOut
    )
    let outcome = await sender.send(outgoing(to: url))
    await aside { sender.shutDown() }
    return outcome
  }

  @Test("A request has the signed body, the fields of Standard Webhooks and the server's name")
  func request() async throws {
    let received = LockedState<(head: RequestHead, body: [UInt8])?>(nil)
    try await LoopbackServer.run { request in
      let body = try await request.body.collect()
      received.withLock { $0 = (request.head, body) }
      return Response(status: .noContent)
    } _: { port in
      let outcome = await Self.send(to: "http://127.0.0.1:\(port)/hooks?key=1")
      #expect(outcome == AttemptOutcome(.delivered, status: 204))
    }
    let (head, body) = try #require(received.withLock { $0 })
    let outgoing = Self.outgoing(to: "")
    let text = #"{"type":"state.changed","timestamp":"2027-01-15T08:00:00.000Z","data":{"revision":7}}"#
    #expect(String(decoding: body, as: UTF8.self) == text)
    #expect(head.method == .post && head.path == "/hooks" && head.query == "key=1")
    let message = WebhookMessage(id: outgoing.delivery.id.description, body: body)
    let fields = message.fields(at: outgoing.at, secrets: [Self.secret])
    #expect([head["webhook-id"], head["webhook-timestamp"], head["webhook-signature"]] == fields.map(\.value))
    #expect(head[.userAgent] == "lockstep/test")
    #expect(head[.contentType] == "application/json")
  }

  @Test(
    "A redirect is not followed, and only 2xx is a success",
    arguments: [(308, false), (500, false), (404, false), (201, true)]
  )
  func statuses(code: Int, isSuccess: Bool) async throws {
    let count = LockedState(0)
    try await LoopbackServer.run { request in
      count.withLock { $0 += 1 }
      var response = Response(status: try #require(Status(code: code)))
      response.fields.append(.location, "http://127.0.0.1:1/elsewhere")
      return response
    } _: { port in
      let outcome = await Self.send(to: "http://127.0.0.1:\(port)/")
      #expect((outcome.kind == .delivered) == isSuccess)
      #expect(outcome.status == code)
    }
    #expect(count.withLock { $0 } == 1)
  }

  @Test("A private address gets no connection, unless the operator permits it", arguments: ["127.0.0.1", "localhost"])
  func privateAddress(host: String) async throws {
    try await LoopbackServer.run { _ in
      Issue.record("the request arrived")
      return Response(status: .ok)
    } _: { port in
      let outcome = await Self.send(to: "http://\(host):\(port)/", allowsPrivateAddresses: false)
      #expect(outcome.status == nil && outcome.kind == .failed(retryAfter: nil))
      #expect(outcome.error?.contains("is not a public address") == true)
    }
  }

  @Test("A receiver that accepts and says nothing fails after the time-out")
  func hanging() async throws {
    let server = try RawServer()
    let outcome = await Self.send(to: "http://127.0.0.1:\(server.port)/", timeOut: .milliseconds(300))
    #expect(outcome.status == nil && outcome.error?.contains("timeOut") == true)
    #expect(!outcome.isAborted)
  }

  @Test("A receiver that hangs, one that is slow and one that fails do not delay a fourth one, which gets all in order")
  func neighbours() async throws {
    let hanging = try RawServer()
    let arrived = LockedState<[Int]>([])
    try await LoopbackServer.run { request in
      switch request.head.path {
      case "/slow":
        try await Task.sleep(for: .milliseconds(200))
        return Response(status: .ok)
      case "/fails": return Response(status: .internalServerError)
      default:
        let body = try JSON(parsing: try await request.body.collect())
        arrived.withLock { $0.append(body["data"]?["revision"]?.intValue ?? 0) }
        return Response(status: .noContent)
      }
    } _: { port in
      try await DeliveryFixture.run { fixture, store in
        let urls = [
          "hangs": "http://127.0.0.1:\(hanging.port)/", "slow": "http://127.0.0.1:\(port)/slow",
          "fails": "http://127.0.0.1:\(port)/fails", "works": "http://127.0.0.1:\(port)/works",
        ]
        for (name, url) in urls {
          try await store.writer.write { connection in
            _ = try WebhookRecords(connection: connection)
              .put(name, url: url, events: [.stateChanged], secret: Self.secret.text, at: TimeSource.system.now())
          }
        }
        fixture.moveToPresent()
        let user = DeliveryFixture.user(1)
        for number in 1...100 { try await fixture.commit(number, of: user, in: store) }
        for number in 2...200 { try await fixture.commit(0, of: DeliveryFixture.user(number), in: store) }
        // The one that hangs never times out.
        let sender = WebhookSender(
          userAgent: "lockstep/test",
          allowsPrivateAddresses: true,
          timeOut: .seconds(3_600)
        )
        let worker = DeliveryWorker(
          readers: store.readers,
          writer: store.writer,
          webhooks: sender,
          now: { TimeSource.system.now() }
        )
        let tasks = TaskScope()
        try tasks.start { await worker.run(by: ContinuousClock(), logger: .silent) }
        await eventually { arrived.withLock { $0.count } == 299 }
        #expect(arrived.withLock { $0.filter { $0 > 0 } } == Array(1...100))
        // The attempts that still run are aborted.
        await aside {
          worker.stop()
          tasks.shutDown()
          sender.shutDown()
        }
      }
    }
  }
}
