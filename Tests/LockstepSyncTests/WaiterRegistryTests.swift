import LockstepHTTP
import LockstepThreading
import Testing

@testable import LockstepStateTestSupport
@testable import LockstepSync

@Suite("Changes wake the waiters of their state", .timeLimit(.minutes(10)))
struct WaiterRegistryTests {
  /// Counts the wake-ups of an event loop and of each of its connections.
  private final class CountingLoop: WakeTarget {
    let woken = LockedState<(calls: Int, tokens: [UInt64])>((0, []))

    func wake(_ tokens: [UInt64]) {
      woken.withLock {
        $0.calls += 1
        $0.tokens += tokens
      }
    }

    var calls: Int { woken.withLock { $0.calls } }

    func takeTokens() -> [UInt64] {
      woken.withLock { woken in
        defer { woken.tokens = [] }
        return woken.tokens
      }
    }
  }

  private final class LoopWaker: Waker {
    private let loop: CountingLoop
    private let token: UInt64

    init(_ token: UInt64, of loop: CountingLoop) {
      self.loop = loop
      self.token = token
    }

    func wake() { loop.wake([token]) }
    func join(_ batch: inout WakeBatch) { batch.add(token, of: loop) }
  }

  private let loop = CountingLoop()
  private let plain: Request
  private let request: WaitingRequest

  init() throws {
    var parser = RequestParser(limits: Limits())
    let text = Array("GET / HTTP/1.1\r\nHost: h\r\n\r\n".utf8)
    let parsed = try text.withUnsafeBytes { bytes -> RequestHead? in
      guard case .head(let head, _) = try parser.parse(bytes) else { return nil }
      return head
    }
    let peer = PeerAddress(host: "::1", port: 1)
    plain = Request(head: try #require(parsed), body: .bytes([]), peer: peer, arrival: 0, loop: 0)
    request = WaitingRequest(plain)
  }

  private func park(_ token: UInt64, for key: String, in registry: WaiterRegistry<String>) throws -> WaiterSeat {
    let seat = try #require(registry.seat(for: key, request))
    seat.wait(LoopWaker(token, of: loop))
    return seat
  }

  @Test("A change wakes the waiters of its own state in the order in which they came, each loop once")
  func order() throws {
    let registry = WaiterRegistry<String>(WaitingLimits(perUser: 1000))
    var seats: [WaiterSeat] = []
    for token in 1...500 { seats.append(try park(UInt64(token), for: "ada", in: registry)) }
    seats.append(try park(900, for: "bob", in: registry))
    registry.wake("ada")
    #expect(loop.takeTokens() == Array(1...500))
    #expect(loop.calls == 1)
    registry.wake("no client")
    #expect(loop.calls == 1)
    registry.wakeAll()
    #expect(loop.takeTokens().sorted() == Array(1...500) + [900])
    #expect(registry.metrics == (waiting: 501, wakings: 1001))
  }

  @Test("Waiters of a service token take no place of a user's, and have a limit of their own")
  func serviceTokens() throws {
    let registry = WaiterRegistry<String>(WaitingLimits(perUser: 1))
    let byToken = WaitingRequest(plain, by: "robot")
    var seats = (0..<WaitingLimits.perServiceToken).map { registry.seat(for: "\($0 % 10)", byToken) }
    #expect(seats.allSatisfy { $0 != nil })
    #expect(registry.seat(for: "ada", byToken) == nil)
    let others = [registry.seat(for: "ada", WaitingRequest(plain, by: "other")), registry.seat(for: "0", request)]
    #expect(others.allSatisfy { $0 != nil })
    #expect(registry.seat(for: "0", request) == nil)
    seats.removeLast()
    #expect(registry.seat(for: "ada", byToken) != nil)
    seats = []
    #expect(registry.metrics.waiting == 2)
    withExtendedLifetime(others) {}
  }

  @Test("A waiter that left or is not parked is not woken, and its place is free")
  func leaving() throws {
    let registry = WaiterRegistry<String>(WaitingLimits(perUser: 2, inAll: 3))
    var first: WaiterSeat? = try park(1, for: "ada", in: registry)
    let unparked = try #require(registry.seat(for: "ada", request))
    #expect(registry.seat(for: "ada", request) == nil)
    registry.wake("ada")
    #expect(loop.takeTokens() == [1])
    #expect(first != nil)
    first = nil
    registry.wake("ada")
    #expect(loop.takeTokens() == [])
    let second = try park(2, for: "ada", in: registry)
    unparked.wait(LoopWaker(3, of: loop))
    registry.wake("ada")
    #expect(loop.takeTokens().sorted() == [2, 3])
    let other = try park(4, for: "bob", in: registry)
    #expect(registry.seat(for: "bob", request) == nil)
    #expect(registry.metrics.waiting == 3)
    withExtendedLifetime((unparked, second, other)) {}
  }

  @Test("A state whose last waiter left can be waited on again, also after the registry is gone")
  func empty() throws {
    var registry: WaiterRegistry<String>? = WaiterRegistry(WaitingLimits(perUser: 1))
    for token in 1...3 {
      let seat = try park(UInt64(token), for: "ada", in: try #require(registry))
      registry?.wake("ada")
      #expect(loop.takeTokens() == [UInt64(token)])
      withExtendedLifetime(seat) {}
    }
    #expect(registry?.metrics.waiting == 0)
    let last = try park(4, for: "ada", in: try #require(registry))
    registry = nil
    withExtendedLifetime(last) {}
  }

  @Test("Waiters that come and go on several threads leave no place taken")
  func concurrent() async {
    let registry = WaiterRegistry<String>(WaitingLimits(perUser: 1000))
    await withTaskGroup { group in
      for thread in 0..<4 {
        group.addTask {
          for round in 0..<2000 {
            let seat = registry.seat(for: "user \(round % 3)", request)
            seat?.wait(LoopWaker(UInt64(thread), of: loop))
            if round % 7 == 0 { registry.wake("user \(round % 3)") }
          }
        }
      }
    }
    #expect(registry.metrics.waiting == 0)
    _ = loop.takeTokens()
    registry.wakeAll()
    #expect(loop.takeTokens() == [])
  }
}
