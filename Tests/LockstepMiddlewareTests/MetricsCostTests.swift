import LockstepThreading
import Testing

@testable import LockstepMiddleware
@testable import LockstepRoutes

@Suite("The costs of metrics", .timeLimit(.minutes(10)))
struct MetricsCostTests {
  @Test("If many requests for metrics come, most of them get the last text")
  func many() async throws {
    let (made, time) = (LockedState(0), LockedState<Int64>(0))
    let route = MetricsRoute(
      requests: RequestMetrics(loops: 1),
      parts: [{ _ in made.withLock { $0 += 1 } }],
      droppedLogLines: { 0 },
      uptimeSeconds: { Double(made.withLock { $0 }) },
      monotonic: { time.withLock { $0 } }
    )
    var last: [UInt8] = []
    for _ in 0..<100 { last = await route.text() }
    #expect(made.withLock { $0 } == 16)
    time.withLock { $0 += 249_999_999 }
    #expect(await route.text() == last)
    time.withLock { $0 += 1 }
    #expect(await route.text() != last)
    #expect(made.withLock { $0 } == 17)
    time.withLock { $0 += 3_600_000_000_000 }
    for _ in 0..<100 { _ = await route.text() }
    #expect(made.withLock { $0 } == 33)
  }
}
