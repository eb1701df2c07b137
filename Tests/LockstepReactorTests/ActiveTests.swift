import LockstepReactor
import LockstepReactorTesting
import Testing

@Suite("Activity and reachability", .timeLimit(.minutes(10)))
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

  @Test("While inactive nothing is emitted; on activation the latest value is emitted once")
  func activation() {
    let rows = record([(100, false), (200, true)], [(50, 1), (110, 2), (120, 3), (250, 4)], initially: true)
    #expect(rows == [.next(0, 0), .next(50, 1), .next(200, 3), .next(250, 4)])
  }

  @Test("A watcher that starts inactive gets nothing before activation")
  func startsInactive() {
    #expect(record([(200, true)], [(100, 1)], initially: false) == [.next(200, 1)])
  }

  @Test("A value that the watcher already has is not repeated on activation")
  func nothingNew() {
    #expect(record([(100, false), (200, true)], [], initially: true) == [.next(0, 0)])
  }

  @Test("A value published right after deactivation, at the same time, is not emitted")
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

  @Test("The sequence ends when its values end")
  func end() {
    let latest = Latest(0)
    let isActive = Latest(true)
    let observer = scheduler.observe(latest.values.active(while: isActive.values))
    scheduler.scheduleAt(300) { latest.finish() }
    scheduler.start()
    #expect(observer.events == [.next(200, 0), .completed(300)])
  }

  /// Changes both sources of a watcher at 300, and returns what the watcher has recorded since 200.
  private func end(
    initially isActiveAtFirst: Bool,
    _ change: @escaping @Sendable (_ values: Latest<Int>, _ activity: Latest<Bool>) -> Void
  ) -> [Recorded<Int>] {
    let latest = Latest(0)
    let isActive = Latest(isActiveAtFirst)
    let observer = scheduler.observe(latest.values.active(while: isActive.values))
    scheduler.scheduleAt(300) { change(latest, isActive) }
    scheduler.start()
    return observer.events
  }

  @Test("The sequence ends when its values end, also while inactive")
  func endWhileInactive() {
    #expect(end(initially: false) { values, _ in values.finish() } == [.completed(300)])
  }

  @Test("The sequence ends when its activity ends, whether it is active or not", arguments: [true, false])
  func endOfActivity(isActive: Bool) {
    let rows = end(initially: isActive) { _, activity in activity.finish() }
    #expect(rows == (isActive ? [.next(200, 0), .completed(300)] : [.completed(300)]))
  }

  @Test("The newest value is emitted before the end if the watcher is active")
  func newestBeforeTheEnd() {
    let seen = end(initially: true) { values, activity in
      values.publish(1)
      activity.finish()
    }
    #expect(seen == [.next(200, 0), .next(300, 1), .completed(300)])
  }

  @Test("A watcher that is cancelled while inactive ends")
  func cancelledWhileInactive() {
    let ended = scheduler.createObserver(String.self)
    let latest = Latest(0)
    let isActive = Latest(false)
    scheduler.run(from: 200, until: 300) {
      for await _ in latest.values.active(while: isActive.values) {}
      ended.next("ended")
    }
    scheduler.start()
    #expect(ended.events == [.next(300, "ended")])
  }

  @Test("Work waits until the other side is reachable")
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
