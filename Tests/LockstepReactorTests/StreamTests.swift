import LockstepReactor
import LockstepReactorTesting
import Testing

@Suite("Streams", .timeLimit(.minutes(10)))
struct StreamTests {
  let scheduler = TestScheduler()

  @Test("Every watcher gets the latest value at once, and then newer, distinct values")
  func latest() {
    let latest = Latest("a")
    let early = scheduler.observe(latest.values, from: 0)
    let late = scheduler.observe(latest.values, from: 250)
    for (time, value) in [(100, "b"), (200, "b"), (300, "c")] {
      scheduler.scheduleAt(time) { latest.publish(value) }
    }
    scheduler.scheduleAt(400) { latest.finish() }
    scheduler.start()
    #expect(early.events == [.next(0, "a"), .next(100, "b"), .next(300, "c"), .completed(400)])
    #expect(late.events == [.next(250, "b"), .next(300, "c"), .completed(400)])
  }

  @Test("A slow watcher gets the newest value and no queue of old ones")
  func latestWins() {
    let latest = Latest(0)
    let observer = scheduler.createObserver(Int.self)
    scheduler.run { [clock = scheduler.clock] in
      for await value in latest.values {
        observer.next(value)
        try? await clock.sleep(for: .seconds(100))
      }
    }
    for time in 1...250 { scheduler.scheduleAt(time) { latest.publish(time) } }
    scheduler.start()
    #expect(observer.events == [.next(0, 0), .next(100, 100), .next(200, 200), .next(300, 250)])
  }

  @Test("A change and its reversal between two reads are not a change")
  func awayAndBack() {
    let latest = Latest(0)
    let observer = scheduler.observe(latest.values, from: 0)
    scheduler.scheduleAt(100) {
      latest.publish(1)
      latest.publish(0)
    }
    scheduler.start()
    #expect(observer.events == [.next(0, 0)])
  }

  @Test("A finished value is still given to later watchers, and no longer changes")
  func finished() {
    let latest = Latest(1)
    latest.finish()
    latest.publish(2)
    let observer = scheduler.observe(latest.values)
    scheduler.start()
    #expect(observer.events == [.next(200, 1), .completed(200)])
    #expect(latest.value == 1)
  }

  @Test("Watchers are notified in the order in which they began to wait")
  func orderOfWatchers() {
    let latest = Latest(0)
    let observer = scheduler.createObserver(String.self)
    for watcher in 1...5 {
      scheduler.run(from: watcher) {
        for await value in latest.values where value == 1 { observer.next("watcher \(watcher)") }
      }
    }
    scheduler.scheduleAt(100) { latest.publish(1) }
    scheduler.start()
    #expect(observer.elements == (1...5).map { "watcher \($0)" })
  }

  @Test("Events since the subscription are delivered in order, also equal ones")
  func events() {
    let subject = DispatchSubject<String>()
    subject.dispatch("before")
    let stream = subject.events()
    for (time, element) in [(100, "a"), (110, "a"), (250, "b"), (260, "c")] {
      scheduler.scheduleAt(time) { subject.dispatch(element) }
    }
    scheduler.scheduleAt(300) { subject.finish() }
    let observer = scheduler.observe(stream)
    scheduler.start()
    #expect(
      observer.events == [
        .next(200, "a"), .next(200, "a"), .next(250, "b"), .next(260, "c"), .completed(300),
      ]
    )
  }

  @Test("A reader that is too slow for its capacity gets an error in place of the lost events, and can continue")
  func overflow() {
    let subject = DispatchSubject<Int>()
    let stream = subject.events(capacity: 3)
    for number in 1...10 { subject.dispatch(number) }
    let observer = scheduler.createObserver(Int.self)
    scheduler.run(from: 100) {
      await observer.read(stream)
      await observer.read(stream)
    }
    scheduler.scheduleAt(200) {
      // These are one event more than the capacity, without a pause.
      for number in 11...14 { subject.dispatch(number) }
    }
    scheduler.run(from: 200) { await observer.read(stream) }
    scheduler.scheduleAt(300) { subject.finish() }
    scheduler.start()
    #expect(
      observer.events == [
        .error(100, EventsLostError(count: 7)), .next(100, 8), .next(100, 9), .next(100, 10),
        .error(200, EventsLostError(count: 1)), .next(200, 12), .next(200, 13), .next(200, 14), .completed(300),
      ]
    )
    #expect(stream.lostCount == 8)
  }

  @Test("A reader that ignores losses continues after every gap")
  func ignoringLosses() {
    let subject = DispatchSubject<Int>()
    let stream = subject.events(capacity: 3)
    for number in 1...10 { subject.dispatch(number) }
    let observer = scheduler.observe(stream.ignoringLosses, from: 100)
    scheduler.scheduleAt(200) {
      for number in 11...15 { subject.dispatch(number) }
      subject.finish()
    }
    scheduler.start()
    #expect(observer.elements == [8, 9, 10, 13, 14, 15])
    #expect(observer.events.last == .completed(200))
    #expect(stream.lostCount == 9)
  }

  @Test("The error of a loss says what to do", arguments: [(1, "1 event was"), (2, "2 events were")])
  func lossText(count: Int, subject: String) {
    #expect(
      EventsLostError(count: count).description
        == "\(subject) lost because the reader was too slow. "
        + "Subscribe with a larger capacity, or load the data of the events again."
    )
  }

  @Test("Releasing a stream ends its subscription")
  func unsubscribe() {
    let subject = DispatchSubject<Int>()
    var streams = [subject.events(), subject.events()]
    #expect(subject.subscriberCount == 2)
    streams.removeLast()
    #expect(subject.subscriberCount == 1)
    streams = []
    #expect(subject.subscriberCount == 0)
  }

  @Test("A cancelled reader gets no more events, and the waiting ones are left for the next reader")
  func cancelledReader() {
    let subject = DispatchSubject<Int>()
    let stream = subject.events()
    for number in 1...3 { subject.dispatch(number) }
    let cancelled = scheduler.createObserver(Int.self)
    scheduler.run(from: 100) {
      withUnsafeCurrentTask { $0?.cancel() }
      for await number in stream.ignoringLosses { cancelled.next(number) }
    }
    let next = scheduler.observe(stream, from: 200)
    scheduler.start()
    #expect(cancelled.events == [])
    #expect(next.elements == [1, 2, 3])
  }

  @Test("A cancelled watcher gets no further value")
  func cancelledWatcher() {
    let latest = Latest(0)
    let observer = scheduler.createObserver(Int.self)
    scheduler.run(from: 100) {
      for await value in latest.values {
        observer.next(value)
        if value < 3 { latest.publish(value + 1) }
        withUnsafeCurrentTask { $0?.cancel() }
      }
    }
    scheduler.start()
    #expect(observer.events == [.next(100, 0)])
  }

  @Test("After many streams have ended, the others still get events in the order of subscription")
  func manyUnsubscribe() {
    let subject = DispatchSubject<Int>()
    var streams = (0..<1_000).map { Optional(subject.events(capacity: $0 + 1)) }
    for index in streams.indices where !index.isMultiple(of: 100) { streams[index] = nil }
    #expect(subject.subscriberCount == 10)
    let observer = scheduler.createObserver(Int.self)
    for index in streams.indices {
      guard let stream = streams[index] else { continue }
      scheduler.run { for await number in stream.ignoringLosses { observer.next(number + index) } }
    }
    scheduler.scheduleAt(1) { subject.dispatch(0) }
    scheduler.start()
    #expect(observer.elements == stride(from: 0, to: 1_000, by: 100).map { $0 })
  }

  @Test("A finished subject ends new streams at once")
  func finishedSubject() {
    let subject = DispatchSubject<Int>()
    subject.finish()
    subject.dispatch(1)
    let observer = scheduler.observe(subject.events())
    scheduler.start()
    #expect(observer.events == [.completed(200)])
  }

  @Test("Watchers that come and go without a change do not disturb the others")
  func comingAndGoing() {
    let latest = Latest(0)
    for watcher in 0..<200 {
      scheduler.run(from: watcher, until: watcher + 5) { for await _ in latest.values {} }
    }
    let steady = scheduler.observe(latest.values, from: 50)
    scheduler.scheduleAt(500) { latest.publish(1) }
    scheduler.start()
    #expect(steady.events == [.next(50, 0), .next(500, 1)])
  }
}

@Suite("Streams on several threads", .timeLimit(.minutes(10)))
struct ThreadedStreamTests {
  @Test("Every watcher gets the last value")
  func lastValue() async {
    let latest = Latest(0)
    await withTaskGroup(of: Int.self) { group in
      for _ in 0..<16 {
        group.addTask {
          var last = -1
          for await value in latest.values {
            #expect(value > last)
            last = value
          }
          return last
        }
      }
      for number in 1...5_000 { latest.publish(number) }
      latest.finish()
      for await last in group { #expect(last == 5_000) }
    }
  }

  @Test("Actions of one sender are handled in order; of many senders, none is lost or repeated")
  func manySenders() async throws {
    let host = ReactorHost(Collecting(), capacity: 100_000)
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await host.run() }
      await withTaskGroup(of: Void.self) { senders in
        for sender in 0..<8 {
          senders.addTask {
            for number in 0..<500 { host.send(sender * 1_000 + number) }
          }
        }
      }
      let state = try? await host.submit(-1).settled()
      for sender in 0..<8 {
        let own = state?.filter { $0 / 1_000 == sender && $0 >= 0 }
        #expect(own == (0..<500).map { sender * 1_000 + $0 })
      }
      host.close()
    }
  }

  @Test("With a capacity of one, there is room for the next action as soon as one has settled")
  func roomAfterSettling() async throws {
    let host = ReactorHost(Collecting(), capacity: 1)
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { await host.run() }
      for number in 1...2_000 { _ = try await host.submit(number).settled() }
      host.close()
    }
    #expect(host.currentState == Array(1...2_000))
  }

  @Test("Waiting tasks that are cancelled while values are published all end")
  func cancellationRace() async {
    // That it ends is all it asserts: a task that is not let go is found by the suite's time limit.
    let latest = Latest(0)
    for round in 1...200 {
      await withTaskGroup(of: Void.self) { group in
        for _ in 0..<8 { group.addTask { for await _ in latest.values {} } }
        group.addTask { latest.publish(round) }
        await Task.yield()
        group.cancelAll()
      }
    }
  }
}

private struct Collecting: Reactor {
  typealias Action = Int
  var initialState: [Int] { [] }
  static func reduce(_ state: inout [Int], _ mutation: Int) { if mutation >= 0 { state.append(mutation) } }
}
