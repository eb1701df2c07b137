import Reactor
import ReactorTesting
import Testing

@Suite("Active, and reachability")
struct ActiveTests {
  let scheduler = TestScheduler()

  private func record(_ activity: [(Int, Bool)], _ values: [(Int, Int)], initially: Bool) -> [Recorded<Int>] {
    let latest = Latest(0)
    let isActive = Latest(initially)
    for (time, value) in values { scheduler.scheduleAt(time) { latest.publish(value) } }
    for (time, value) in activity { scheduler.scheduleAt(time) { isActive.publish(value) } }
    let observer = scheduler.observe(latest.values.active(while: isActive.values), from: 0)
    scheduler.start()
    return observer.events
  }

  @Test("while inactive nothing is pushed; on activation the latest, once")
  func activation() {
    let rows = record([(100, false), (200, true)], [(50, 1), (110, 2), (120, 3), (250, 4)], initially: true)
    #expect(rows == [.next(0, 0), .next(50, 1), .next(200, 3), .next(250, 4)])
  }

  @Test("who starts inactive is given nothing before activation")
  func startsInactive() {
    #expect(record([(200, true)], [(100, 1)], initially: false) == [.next(200, 1)])
  }

  @Test("on activation a value that the watcher has already is not repeated")
  func nothingNew() {
    #expect(record([(100, false), (200, true)], [], initially: true) == [.next(0, 0)])
  }

  @Test("a value that comes in the instant of deactivation, after it, is not pushed")
  func sameInstant() {
    #expect(record([(100, false)], [(100, 1)], initially: true).last == .next(100, 1))
    let latest = Latest(0)
    let isActive = Latest(true)
    let observer = scheduler.observe(latest.values.active(while: isActive.values), from: 1000, until: 2000)
    scheduler.scheduleAt(1100) {
      isActive.publish(false)
      latest.publish(1)
    }
    scheduler.start()
    #expect(observer.events == [.next(1000, 0)])
  }

  @Test("the sequence ends when its values end")
  func end() {
    let latest = Latest(0)
    let isActive = Latest(true)
    let observer = scheduler.observe(latest.values.active(while: isActive.values))
    scheduler.scheduleAt(300) { latest.finish() }
    scheduler.start()
    #expect(observer.events == [.next(200, 0), .completed(300)])
  }

  @Test("work waits until the other side can be reached")
  func reachability() {
    let reachability = Reachability(.unreachable)
    let observer = scheduler.createObserver(String.self)
    scheduler.run(from: 100) {
      try? await reachability.waitUntilReachable()
      observer.next("\(reachability.current)")
    }
    scheduler.run(from: 100, until: 150) {
      do { try await reachability.waitUntilReachable() } catch { observer.next("\(error)") }
    }
    scheduler.scheduleAt(300) { reachability.update(.reachable) }
    let values = scheduler.observe(reachability.values)
    scheduler.start()
    #expect(observer.events == [.next(150, "CancellationError()"), .next(300, "reachable")])
    #expect(values.events == [.next(200, .unreachable), .next(300, .reachable)])
  }
}
