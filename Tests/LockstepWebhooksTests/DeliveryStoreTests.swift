import LockstepCollections
import LockstepJSON
import LockstepTime
import Testing

@testable import LockstepStore
@testable import LockstepWebhooks

@Suite("Stored webhooks", .timeLimit(.minutes(10)))
struct DeliveryStoreTests {
  private let ann = DeliveryFixture.user(1)
  private let bob = DeliveryFixture.user(2)

  @Test("The erasure of a user deletes the user's deliveries and is delivered itself, after a running attempt")
  func erasure() async throws {
    try await DeliveryFixture.run { fixture, store in
      let webhook = try await fixture.put(in: store)
      try await fixture.put("states", [.stateChanged], in: store)
      let worker = fixture.worker(of: store)
      for number in 1...3 { try await fixture.commit(number, of: ann, in: store) }
      try await fixture.commit(1, of: bob, in: store)
      let running = try await worker.pass()
      let now = fixture.now
      try await store.writer.write { [ann] connection in
        try connection.lock(ann)
        try WebhookOutbox(connection: connection).addErasure(of: ann, at: now)
      }
      // The event waits for the attempt, so that it arrives last.
      #expect(try await worker.pass().isEmpty)
      fixture.receiver.respond { _ in StubReceiver.broken }
      for outgoing in running { await worker.send(outgoing) }
      fixture.receiver.respond { _ in StubReceiver.done }
      _ = fixture.receiver.takeArrivals()
      try await fixture.drive(worker)
      let arrivals = fixture.receiver.takeArrivals()
      #expect(arrivals.filter { $0.user == ann }.map(\.type) == ["user.erased"])
      let ofAnn = try await fixture.deliveries(of: webhook, in: store).filter { $0.user == ann }
      #expect(ofAnn.map(\.type) == ["user.erased"])
      fixture.advance(seconds: 2)
      try await fixture.drive(worker)
      #expect(fixture.receiver.takeArrivals().map(\.user) == [bob, bob])
    }
  }

  @Test("An erased user's failing delivery does not delay the event of the erasure")
  func erasureAfterFailure() async throws {
    try await DeliveryFixture.run { fixture, store in
      try await fixture.put(in: store)
      let worker = fixture.worker(of: store)
      try await fixture.commit(1, of: ann, in: store)
      fixture.receiver.respond { _ in AttemptOutcome(.failed(retryAfter: .seconds(3_600)), status: 500) }
      try await fixture.drive(worker)
      fixture.receiver.respond { _ in StubReceiver.done }
      let now = fixture.now
      try await store.writer.write { [ann] connection in
        try connection.lock(ann)
        try WebhookOutbox(connection: connection).addErasure(of: ann, at: now)
      }
      _ = fixture.receiver.takeArrivals()
      try await fixture.drive(worker)
      #expect(fixture.receiver.arrivals.map(\.type) == ["user.erased"])
    }
  }

  @Test("A delivered and a failed delivery can be sent again, and a queued one now")
  func resending() async throws {
    try await DeliveryFixture.run { fixture, store in
      let webhook = try await fixture.put(in: store)
      let worker = fixture.worker(of: store)
      for number in 1...2 { try await fixture.commit(number, of: ann, in: store) }
      try await fixture.drive(worker)
      let first = try #require(fixture.receiver.takeArrivals().first)
      func resend(_ id: WebhookEventID) async throws -> Bool {
        let now = fixture.now
        return try await store.writer.write { connection in
          try DeliveryRecords(connection: connection).resend(id, of: webhook.id, at: now)
        }
      }
      #expect(try await resend(first.id))
      try await fixture.commit(3, of: ann, in: store)
      #expect(try await fixture.deliveries(.queued, of: webhook, in: store).count == 2)
      try await fixture.drive(worker)
      let again = fixture.receiver.takeArrivals()
      #expect(again.map(\.number) == [1, 3])
      #expect(again.first?.body == first.body)
      // A queued one does not wait for the end of its pause.
      fixture.receiver.respond { _ in StubReceiver.broken }
      try await fixture.commit(4, of: ann, in: store)
      try await fixture.drive(worker)
      fixture.receiver.respond { _ in StubReceiver.done }
      let queued = try #require(fixture.receiver.takeArrivals().first)
      try await fixture.drive(worker)
      #expect(fixture.receiver.arrivals.isEmpty)
      #expect(try await resend(queued.id))
      try await fixture.drive(worker)
      #expect(fixture.receiver.takeArrivals().map(\.number) == [4])
      #expect(try await !resend(WebhookEventID(UUIDv7(milliseconds: 1, random12: 1, random62: 1))))
    }
  }

  @Test("A deleted webhook gets nothing more, and a new one of its name gets only its own deliveries")
  func deletion() async throws {
    try await DeliveryFixture.run { fixture, store in
      let old = try await fixture.put(in: store)
      let worker = fixture.worker(of: store)
      for number in 1...3 { try await fixture.commit(number, of: ann, in: store) }
      _ = try await store.writer.write { connection in try WebhookRecords(connection: connection).delete("main") }
      let new = try await fixture.put(in: store)
      #expect(new.id != old.id)
      try await fixture.commit(4, of: ann, in: store)
      try await fixture.drive(worker)
      #expect(fixture.receiver.takeArrivals().map(\.number) == [4])
      try await worker.upkeep()
      #expect(try await fixture.deliveries(of: old, in: store).isEmpty)
      let rows = try await store.readers.read { try $0.first("SELECT count(*) FROM webhooks") { try $0[0] as Int } }
      #expect(rows == 1)
    }
  }

  @Test("The last 1,000 delivered deliveries of a webhook are kept, and all that wait")
  func pruning() async throws {
    try await DeliveryFixture.run { fixture, store in
      let webhook = try await fixture.put(in: store)
      let worker = fixture.worker(of: store)
      let now = fixture.now
      // On PostgreSQL, other tests wait for the lock of a transaction.
      for start in stride(from: 0, to: 1_400, by: 50) {
        try await store.writer.write { connection in
          for number in start..<start + 50 {
            let event = WebhookEvent(.stateChanged, of: DeliveryFixture.user(number), at: now)
            try WebhookOutbox(connection: connection).add(event)
          }
        }
      }
      try await fixture.drive(worker)
      let delivered = try await fixture.deliveries(.delivered, of: webhook, in: store)
      #expect((1_000..<1_400).contains(delivered.count))
      #expect(fixture.receiver.arrivals.count == 1_400)
    }
  }

  @Test("After a change of the secret, the old one signs too for a day")
  func rotation() async throws {
    try await DeliveryFixture.run { fixture, store in
      let (old, new) = (WebhookSecret.make(), WebhookSecret.make())
      try await fixture.put(secret: old.text, in: store)
      #expect(try await fixture.webhook(in: store)?.secrets(at: fixture.now) == [old])
      try await fixture.put(secret: new.text, in: store)
      try await fixture.put([.userCreated], secret: new.text, in: store)
      #expect(try await fixture.webhook(in: store)?.secrets(at: fixture.now) == [new, old])
      fixture.advance(seconds: 86_400)
      #expect(try await fixture.webhook(in: store)?.secrets(at: fixture.now) == [new])
    }
  }

  @Test("Only the events that a webhook is subscribed to are delivered to it")
  func subscriptions() async throws {
    try await DeliveryFixture.run { fixture, store in
      try await fixture.put("accounts", [.userCreated, .sessionEnded], in: store)
      try await fixture.put("states", [.stateChanged], in: store)
      let worker = fixture.worker(of: store)
      let now = fixture.now
      try await store.writer.write { [ann] connection in
        try connection.lock(ann)
        for type in WebhookEventType.ofWebhooks {
          try WebhookOutbox(connection: connection).add(WebhookEvent(type, of: ann, at: now))
        }
      }
      try await fixture.drive(worker)
      let arrivals = fixture.receiver.arrivals
      #expect(arrivals.filter { $0.webhook == "accounts" }.map(\.type) == ["user.created", "session.ended"])
      #expect(arrivals.filter { $0.webhook == "states" }.map(\.type) == ["state.changed"])
    }
  }
}

extension DeliveryFixture {
  @discardableResult
  fileprivate func put(
    _ events: [WebhookEventType],
    secret: String,
    in store: DurableStore
  ) async throws -> WebhookRecord { try await put("main", events, secret: secret, in: store) }
}
