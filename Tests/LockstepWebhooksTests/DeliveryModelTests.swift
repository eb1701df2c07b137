import LockstepCollections
import LockstepTestSupport
import LockstepTime
import Testing

@testable import LockstepStore
@testable import LockstepWebhooks

/// Random commits, failures, crashes and servers against the guarantees.
@Suite("Guarantees of deliveries", .timeLimit(.minutes(10)))
struct DeliveryModelTests {
  private static let users = 6
  private static let webhooks = ["one", "two"]

  @Test("Each delivery arrives in the order of its user, none is missing, and none arrives twice without a crash")
  func model() async throws {
    var numbers = SeededNumbers(seed: TestSeed.make(for: "deliveries"))
    // On PostgreSQL, each run opens two stores with their connections.
    for _ in 0..<(try DeliveryFixture().isPostgreSQL ? 1 : 5) {
      try await run(numbers.next(), crashes: false)
      try await run(numbers.next(), crashes: true)
    }
  }

  private func run(_ seed: UInt64, crashes: Bool) async throws {
    try await DeliveryFixture.run { fixture, store in
      var numbers = SeededNumbers(seed: seed)
      for name in Self.webhooks { try await fixture.put(name, in: store) }
      // On PostgreSQL, each server has connections of its own.
      let second = fixture.isPostgreSQL ? try fixture.open() : store
      var workers = [fixture.worker(of: store), fixture.worker(of: second)]
      var committed = [Int](repeating: 0, count: Self.users)
      var running: [(worker: DeliveryWorker, outgoing: OutgoingDelivery)] = []
      for _ in 0..<400 {
        let index = Int.random(in: 0..<2, using: &numbers)
        switch Int.random(in: 0..<10, using: &numbers) {
        case 0..<3:
          let user = Int.random(in: 0..<Self.users, using: &numbers)
          committed[user] += 1
          let target = Bool.random(using: &numbers) ? store : second
          try await fixture.commit(committed[user], of: DeliveryFixture.user(user), in: target)
        case 3..<5:
          running += try await workers[index].pass().map { (workers[index], $0) }
        case 5..<8 where !running.isEmpty:
          let next = running.remove(at: Int.random(in: 0..<running.count, using: &numbers))
          let fails = Int.random(in: 0..<4, using: &numbers) == 0
          fixture.receiver.respond { _ in fails ? StubReceiver.broken : StubReceiver.done }
          await next.worker.send(next.outgoing)
        case 8 where crashes:
          let worker = workers[index]
          running.removeAll { $0.worker === worker }
          workers[index] = fixture.worker(of: index == 0 ? store : second)
        default:
          fixture.advance(seconds: Double.random(in: 0..<3, using: &numbers))
          if crashes { continue }
          // Attempts end long before their claims expire.
          let limit = fixture.now.millisecondsSince1970 - 15_000
          for next in running where next.outgoing.at.millisecondsSince1970 < limit {
            await next.worker.send(next.outgoing)
          }
          running.removeAll { $0.outgoing.at.millisecondsSince1970 < limit }
          // A server records the result of an attempt as soon as it has ended, so before other
          // servers may claim the delivery.
          for worker in workers { _ = try await worker.pass(claiming: false) }
        }
      }
      fixture.receiver.respond { _ in StubReceiver.done }
      for next in running { await next.worker.send(next.outgoing) }
      // Claims expire and pauses end.
      for _ in 0..<20 {
        for worker in workers { try await fixture.drive(worker) }
        fixture.advance(seconds: 300)
      }
      for webhook in Self.webhooks {
        for user in 0..<Self.users {
          let isOfQueue = { (arrival: StubReceiver.Arrival) in
            arrival.webhook == webhook && arrival.user == DeliveryFixture.user(user)
          }
          let all = Array(1...max(1, committed[user])).filter { $0 <= committed[user] }
          let delivered = fixture.receiver.deliveries.filter(isOfQueue).compactMap(\.number)
          let attempts = fixture.receiver.arrivals.filter(isOfQueue).compactMap(\.number)
          #expect(Self.withoutRepetitions(attempts) == all, "seed \(seed)")
          // A delivery arrives twice if its server ended before it could record the attempt.
          #expect((crashes ? Self.withoutRepetitions(delivered) : delivered) == all, "seed \(seed)")
        }
      }
    }
  }

  private static func withoutRepetitions(_ numbers: [Int]) -> [Int] {
    var distinct: [Int] = []
    for number in numbers where number != distinct.last { distinct.append(number) }
    return distinct
  }
}
