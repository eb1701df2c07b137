import LockstepCollections
import LockstepJSON
import LockstepTime
import Testing

@testable import LockstepStore
@testable import LockstepWebhooks

@Suite("Deliveries", .timeLimit(.minutes(10)))
struct DeliveryWorkerTests {
  private let ann = DeliveryFixture.user(1)
  private let bob = DeliveryFixture.user(2)

  @Test("A user's deliveries arrive in order, and a failing one delays those of no other user")
  func order() async throws {
    try await DeliveryFixture.run { fixture, store in
      let webhook = try await fixture.put(in: store)
      let worker = fixture.worker(of: store)
      for number in 1...3 {
        try await fixture.commit(number, of: ann, in: store)
        try await fixture.commit(number, of: bob, in: store)
      }
      fixture.receiver.respond { [ann] in $0.user == ann ? StubReceiver.broken : StubReceiver.done }
      try await fixture.drive(worker)
      let arrivals = fixture.receiver.takeArrivals()
      #expect(arrivals.filter { $0.user == bob }.map(\.number) == [1, 2, 3])
      #expect(arrivals.filter { $0.user == ann }.map(\.number) == [1])
      fixture.receiver.respond { _ in StubReceiver.done }
      fixture.advance(seconds: 2)
      try await fixture.drive(worker)
      #expect(fixture.receiver.takeArrivals().map(\.number) == [1, 2, 3])
      let listed = try await fixture.deliveries(of: webhook, in: store)
      #expect(listed.count == 6 && listed.allSatisfy { $0.status == .delivered && $0.lastStatus == 204 })
      #expect(listed.filter { $0.user == ann }.map(\.attempts) == [1, 1, 2])
    }
  }

  @Test("A failed delivery is sent again after 1, 5 and 30 seconds, then more slowly, with the same id and body")
  func retries() async throws {
    try await DeliveryFixture.run { fixture, store in
      let webhook = try await fixture.put(in: store)
      let worker = fixture.worker(of: store)
      try await fixture.commit(1, of: ann, in: store)
      fixture.receiver.respond { _ in AttemptOutcome(.failed(retryAfter: nil), error: "connection refused") }
      var times: [Double] = []
      for _ in 0..<8 {
        try await fixture.drive(worker)
        let arrived = try #require(fixture.receiver.arrivals.last)
        times.append(Double(arrived.at.millisecondsSince1970 - DeliveryFixture.start) / 1_000)
        let listed = try #require(try await fixture.deliveries(.queued, of: webhook, in: store).first)
        #expect(listed.attempts == times.count)
        #expect(listed.lastError == "connection refused" && listed.lastStatus == nil)
        let next = try #require(listed.nextAt)
        fixture.advance(seconds: Double(next.millisecondsSince1970 - fixture.now.millisecondsSince1970) / 1_000 - 0.001)
        try await fixture.drive(worker)
        #expect(fixture.receiver.arrivals.count == times.count)
        fixture.advance(seconds: 0.001)
      }
      #expect(times == [0, 1, 6, 36, 156, 456, 1356, 3156])
      #expect(Set(fixture.receiver.arrivals.map(\.id)).count == 1)
      #expect(Set(fixture.receiver.arrivals.map(\.body)).count == 1)
    }
  }

  @Test("After three days of failures, deliveries are given up, the webhook is disabled, and a PUT enables it")
  func disabling() async throws {
    try await DeliveryFixture.run { fixture, store in
      let webhook = try await fixture.put(in: store)
      let worker = fixture.worker(of: store)
      try await fixture.commit(1, of: ann, in: store)
      fixture.receiver.respond { _ in StubReceiver.broken }
      for _ in 0..<71 {
        try await fixture.drive(worker)
        fixture.advance(seconds: 3_600)
      }
      #expect(try await fixture.deliveries(.queued, of: webhook, in: store).count == 1)
      #expect(try await fixture.webhook(in: store)?.failingSince?.millisecondsSince1970 == DeliveryFixture.start)
      #expect(try await fixture.webhook(in: store)?.disabledAt == nil)
      try await fixture.commit(1, of: bob, in: store)
      fixture.advance(seconds: 2 * 3_600)
      try await fixture.drive(worker)
      #expect(try await fixture.deliveries(.failed, of: webhook, in: store).map(\.user) == [ann])
      #expect(try await fixture.webhook(in: store)?.disabledAt == fixture.now)
      _ = try await worker.pass()
      #expect(worker.metrics.disabled == 1 && worker.metrics.failed == 1)
      #expect(!store.writer.stateEventFlag.hasStateEvents)
      // Without a webhook in use, there are no more events, and nothing is sent.
      try await fixture.commit(2, of: bob, in: store)
      fixture.advance(seconds: 7_200)
      _ = fixture.receiver.takeArrivals()
      try await fixture.drive(worker)
      #expect(fixture.receiver.arrivals.isEmpty)
      try await fixture.put(in: store)
      fixture.receiver.respond { _ in StubReceiver.done }
      try await fixture.drive(worker)
      #expect(fixture.receiver.arrivals.map(\.number) == [1])
      #expect(try await fixture.webhook(in: store)?.failingSince == nil)
    }
  }

  @Test("A response with 410 disables the webhook at once")
  func gone() async throws {
    try await DeliveryFixture.run { fixture, store in
      let webhook = try await fixture.put(in: store)
      let worker = fixture.worker(of: store)
      for number in 1...40 { try await fixture.commit(1, of: DeliveryFixture.user(number), in: store) }
      fixture.receiver.respond { _ in AttemptOutcome(.gone, status: 410) }
      try await fixture.drive(worker)
      #expect(fixture.receiver.arrivals.count == 16)
      #expect(try await fixture.webhook(in: store)?.disabledAt == fixture.now)
      #expect(try await fixture.deliveries(.queued, of: webhook, in: store).count == 40)
    }
  }

  @Test("A receiver that responds with 429 gets nothing for a while, and other receivers get theirs")
  func throttled() async throws {
    try await DeliveryFixture.run { fixture, store in
      try await fixture.put(in: store)
      try await fixture.put("other", in: store)
      let worker = fixture.worker(of: store)
      try await fixture.commit(1, of: ann, in: store)
      fixture.receiver.respond { arrival in
        arrival.webhook == "main"
          ? AttemptOutcome(.throttled(retryAfter: .seconds(60)), status: 429) : StubReceiver.done
      }
      try await fixture.drive(worker)
      _ = fixture.receiver.takeArrivals()
      try await fixture.commit(1, of: bob, in: store)
      fixture.advance(seconds: 59)
      try await fixture.drive(worker)
      #expect(fixture.receiver.takeArrivals().map(\.webhook) == ["other"])
      fixture.advance(seconds: 1)
      fixture.receiver.respond { _ in StubReceiver.done }
      try await fixture.drive(worker)
      #expect(fixture.receiver.takeArrivals().map(\.webhook) == ["main", "main"])
    }
  }

  @Test("A new PUT ends the pause that a receiver has asked for, and so does a second server's resend")
  func endOfPause() async throws {
    try await DeliveryFixture.run { fixture, store in
      let webhook = try await fixture.put(in: store)
      let (worker, other) = (fixture.worker(of: store), fixture.worker(of: store))
      for restart in ["put", "resend"] {
        try await fixture.commit(1, of: ann, in: store)
        fixture.receiver.respond { _ in AttemptOutcome(.throttled(retryAfter: .seconds(3600)), status: 503) }
        try await fixture.drive(worker)
        #expect(fixture.receiver.takeArrivals().count == 1)
        #expect(try await fixture.webhook(in: store)?.pausedUntil == fixture.now.advanced(byMilliseconds: 3_600_000))
        fixture.receiver.respond { _ in StubReceiver.done }
        try await fixture.commit(1, of: bob, in: store)
        fixture.advance(seconds: 3599)
        try await fixture.drive(other)
        #expect(fixture.receiver.takeArrivals().isEmpty, "The pause holds for all servers.")
        if restart == "put" {
          try await fixture.put(secret: webhook.secret, in: store)
        } else {
          let now = fixture.now
          let waiting = try await fixture.deliveries(.queued, of: webhook, in: store)
          try await store.writer.write { connection in
            for delivery in waiting {
              _ = try DeliveryRecords(connection: connection).resend(delivery.id, of: webhook.id, at: now)
            }
            try WebhookRecords(connection: connection).resume(webhook.id)
          }
        }
        #expect(try await fixture.webhook(in: store)?.pausedUntil == nil)
        try await fixture.drive(other)
        #expect(fixture.receiver.takeArrivals().count == 2)
      }
    }
  }

  @Test("Without Retry-After, a receiver that has too much to do gets the next attempt after a second")
  func throttledWithoutTime() async throws {
    try await DeliveryFixture.run { fixture, store in
      try await fixture.put(in: store)
      let worker = fixture.worker(of: store)
      try await fixture.commit(1, of: ann, in: store)
      fixture.receiver.respond { _ in AttemptOutcome(.throttled(retryAfter: nil), status: 503) }
      try await fixture.drive(worker)
      #expect(fixture.receiver.takeArrivals().count == 1)
      try await fixture.commit(1, of: bob, in: store)
      try await fixture.drive(worker)
      #expect(fixture.receiver.takeArrivals().map(\.user) == [bob])
      fixture.advance(seconds: 1)
      try await fixture.drive(worker)
      #expect(fixture.receiver.takeArrivals().count == 2)
    }
  }

  @Test("A receiver that hangs occupies 16 attempts, and 2 after the first failure, while others get theirs")
  func hanging() async throws {
    try await DeliveryFixture.run { fixture, store in
      try await fixture.put("hangs", in: store)
      try await fixture.put("works", in: store)
      let worker = fixture.worker(of: store)
      for number in 1...50 { try await fixture.commit(1, of: DeliveryFixture.user(number), in: store) }
      let first = try await worker.pass()
      let running = first.filter { $0.webhook?.name == "hangs" }
      #expect(running.count == 16 && first.count == 32)
      for outgoing in first where outgoing.webhook?.name == "works" { await worker.send(outgoing) }
      try await fixture.drive(worker)
      #expect(fixture.receiver.takeArrivals().count == 50)
      // The hanging ones time out.
      fixture.receiver.respond { _ in AttemptOutcome(.failed(retryAfter: nil), error: "time-out") }
      fixture.advance(seconds: 15)
      for outgoing in running { await worker.send(outgoing) }
      let second = try await worker.pass()
      #expect(second.count == 2 && second.allSatisfy { $0.webhook?.name == "hangs" })
      #expect(try await worker.pass().isEmpty)
    }
  }

  @Test("A delivery whose server ended is sent again after its claim has expired, and a late result changes nothing")
  func crash() async throws {
    try await DeliveryFixture.run { fixture, store in
      let webhook = try await fixture.put(in: store)
      try await fixture.commit(1, of: ann, in: store)
      try await fixture.commit(2, of: ann, in: store)
      let (crashed, other) = (fixture.worker(of: store), fixture.worker(of: store))
      let claimed = try await crashed.pass()
      #expect(claimed.count == 1)
      fixture.advance(seconds: 39)
      try await fixture.drive(other)
      #expect(fixture.receiver.arrivals.isEmpty)
      fixture.advance(seconds: 1)
      try await fixture.drive(other)
      #expect(fixture.receiver.takeArrivals().map(\.number) == [1, 2])
      // It was no crash: the server was stopped for a while.
      fixture.receiver.respond { _ in StubReceiver.broken }
      for outgoing in claimed { await crashed.send(outgoing) }
      _ = try await crashed.pass()
      let listed = try await fixture.deliveries(of: webhook, in: store)
      #expect(listed.map(\.status) == [.delivered, .delivered] && listed.map(\.attempts) == [1, 1])
      #expect(try await crashed.pass().isEmpty)
    }
  }

  @Test("A result that cannot be stored is stored later")
  func storeFailure() async throws {
    try await DeliveryFixture.run { fixture, store in
      let webhook = try await fixture.put(in: store)
      try await fixture.commit(1, of: ann, in: store)
      let worker = fixture.worker(of: store)
      for outgoing in try await worker.pass() { await worker.send(outgoing) }
      try await store.writer.write { connection in
        switch connection {
        case .sqlite(let file): try file.execute("ALTER TABLE delivery_queues RENAME TO away")
        case .postgreSQL(let session): try session.execute("ALTER TABLE delivery_queues RENAME TO away")
        }
      }
      await #expect(throws: (any Error).self) { _ = try await worker.pass() }
      try await store.writer.write { connection in
        switch connection {
        case .sqlite(let file): try file.execute("ALTER TABLE away RENAME TO delivery_queues")
        case .postgreSQL(let session): try session.execute("ALTER TABLE away RENAME TO delivery_queues")
        }
      }
      #expect(try await worker.pass().isEmpty)
      #expect(try await fixture.deliveries(of: webhook, in: store).map(\.status) == [.delivered])
      #expect(fixture.receiver.arrivals.count == 1)
    }
  }

  @Test("An event that takes a reserved destination gets there with members that are not in the store, for 30 minutes")
  func reserved() async throws {
    try await DeliveryFixture.run { fixture, store in
      let mail = StubReceiver()
      let destination = DeliveryWorker.OtherDestination(.mail, mail, atOnce: 4)
      let worker = fixture.worker(of: store, others: [destination]) { delivery in
        delivery.type == "password.reset" ? ["token": .string("secret of \(delivery.id)")] : [:]
      }
      let now = fixture.now
      try await store.writer.write { [ann] connection in
        try connection.lock(ann)
        try WebhookOutbox(connection: connection)
          .add(WebhookEvent(.passwordReset, of: ann, ["email": "ann@a.example"], at: now), to: .mail)
      }
      mail.respond { _ in StubReceiver.broken }
      for _ in 0..<40 {
        try await fixture.drive(worker)
        fixture.advance(seconds: 60)
      }
      let bodies = Set(mail.arrivals.map { String(decoding: $0.body, as: UTF8.self) })
      let (id, body) = (try #require(mail.arrivals.first?.id), try #require(bodies.first))
      #expect(bodies.count == 1 && body.contains(#""email":"ann@a.example","token":"secret of \#(id)""#))
      // The next attempt would come after half an hour.
      let last = try #require(mail.arrivals.last?.at.millisecondsSince1970) - now.millisecondsSince1970
      #expect(last == 1_500_000)
      let status = try await store.readers.read { connection in
        try DeliveryRecords(connection: connection).page(of: .mail, nil, before: .max, limit: 9).map(\.status)
      }
      #expect(status == [.failed])
      #expect(fixture.receiver.arrivals.isEmpty)
    }
  }
}
