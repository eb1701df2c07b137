import LockstepReactorTesting
import Synchronization
import Testing

@testable import LockstepReactor

/// A `Script` that merges newest values.
private struct Following: Reactor {
  let script: Script
  var actions: @Sendable (Flow<Script.Action>) -> Flow<Script.Action> = { $0 }
  var mutations: @Sendable (Flow<String>) -> Flow<String> = { $0 }
  var states: @Sendable (Flow<String>) -> Flow<String> = { $0 }

  var initialState: String { script.initialState }
  func mutate(_ action: Script.Action, in state: String) -> Effect<String> { script.mutate(action, in: state) }
  static func reduce(_ state: inout String, _ mutation: String) { Script.reduce(&state, mutation) }
  func transform(action: Flow<Script.Action>) -> Flow<Script.Action> { actions(action) }
  func transform(mutation: Flow<String>) -> Flow<String> { mutations(mutation) }
  func transform(state: Flow<String>) -> Flow<String> { states(state) }
}

@Suite("Merged newest values", .timeLimit(.minutes(10)))
struct MergedValuesTests {
  let scheduler = TestScheduler()
  let values = Latest(0)
  var script: Script { Script(clock: scheduler.clock) }

  private func publish(_ value: Int, at time: Int) {
    scheduler.scheduleAt(time) { [values] in values.publish(value) }
  }

  @Test("The latest value comes at the start, then each that differs, in the order of all inputs")
  func mutations() {
    let world = World(
      scheduler,
      Following(script: script, mutations: { [values] in $0.merging(values.values) { "\($0)" } })
    )
    publish(1, at: 100)
    world.send(150, .now("a"))
    publish(1, at: 200)
    publish(2, at: 300)
    scheduler.start()
    #expect(
      world.states.events == [
        .next(0, "0"), .next(100, "0 1"), .next(150, "0 1 a"), .next(300, "0 1 a 2"), .completed(1000),
      ]
    )
  }

  @Test("A value that was published before the host runs is the first one")
  func beforeTheStart() {
    let host = ReactorHost(Following(script: script, mutations: { [values] in $0.merging(values.values) { "\($0)" } }))
    values.publish(7)
    scheduler.run(from: 100) { await host.run() }
    publish(8, at: 200)
    scheduler.start()
    #expect(host.currentState == "7 8")
  }

  @Test("A conversion drops values with nil, and the values after them still come")
  func dropped() {
    let world = World(
      scheduler,
      Following(
        script: script,
        mutations: { [values] in $0.merging(values.values) { $0.isMultiple(of: 2) ? "\($0)" : nil }.filter { $0 != "4" }
        }
      )
    )
    for value in 1...6 { publish(value, at: value * 10) }
    scheduler.start()
    #expect(world.host.currentState == "0 2 6")
  }

  @Test("Values end with their source; the host goes on")
  func finished() {
    let world = World(
      scheduler,
      Following(script: script, mutations: { [values] in $0.merging(values.values) { "\($0)" } })
    )
    publish(1, at: 100)
    scheduler.scheduleAt(100) { [values] in values.finish() }
    world.send(200, .now("a"))
    scheduler.start()
    #expect(world.host.currentState == "0 1 a")
    #expect(world.failures.events == [])
  }

  @Test("The first value and the first change come at once, and later changes after the interval")
  func spaced() {
    let world = World(
      scheduler,
      Following(
        script: script,
        mutations: { [values, clock = scheduler.clock] flow in
          flow.merging(values.values, atMostEvery: .seconds(100), on: clock) { "\($0)" }
        }
      )
    )
    for (value, time) in [(1, 50), (2, 60), (3, 149), (4, 151), (5, 300), (6, 700), (7, 701)] {
      publish(value, at: time)
    }
    scheduler.start()
    let shown = world.states.events.compactMap { event in
      if case .next(let state) = event.event { "\(event.time): \(state)" } else { nil }
    }
    #expect(
      shown == [
        "0: 0", "50: 0 1", "150: 0 1 3", "250: 0 1 3 4", "350: 0 1 3 4 5", "700: 0 1 3 4 5 6",
        "800: 0 1 3 4 5 6 7",
      ]
    )
  }

  @Test("Merged actions are handled like those that are sent, and refused above the capacity")
  func actions() {
    let work = scheduler.clock.steps("work", [(500, "done")])
    let world = World(
      scheduler,
      Following(script: script, actions: { [values] in $0.merging(values.values) { $0 == 0 ? .now("first") : work } }),
      capacity: 1
    )
    publish(1, at: 100)
    publish(2, at: 200)
    scheduler.start()
    #expect(world.host.currentState == "first done")
    #expect(world.failures.events == [.next(200, "\(MergedActionRefusal()) from actionStream")])
  }

  @Test("Merged states are shown until the next one is reduced")
  func states() {
    let banner = Latest("")
    let world = World(
      scheduler,
      Following(script: script, states: { $0.map { "[\($0)]" }.merging(banner.values) { $0.isEmpty ? nil : $0 } })
    )
    scheduler.scheduleAt(100) { banner.publish("maintenance") }
    world.send(200, .now("a"))
    scheduler.start()
    #expect(
      world.states.events == [.next(0, "[]"), .next(100, "maintenance"), .next(200, "[a]"), .completed(1000)]
    )
  }

  @Test("Values that outlive a host keep neither the host's signal nor its reactor")
  func released() {
    final class Service: Sendable {}
    weak let service: Service?
    do {
      let owned = Service()
      service = owned
      let host = ReactorHost(
        Following(
          script: script,
          mutations: { [values] in
            $0.merging(values.values) { [owned] value in withExtendedLifetime(owned) { "\(value)" } }
          }
        )
      )
      scheduler.run { await host.run() }
      scheduler.scheduleAt(100) { host.close() }
      scheduler.start()
    }
    #expect(values.slot.withLock { $0.waiters.count } == 0)
    #expect(service == nil)
  }

  @Test("Of a thousand values published by several threads, the last one always arrives")
  func threads() async {
    let total = Latest(0)
    let host = ReactorHost(Following(script: script, mutations: { $0.merging(total.values) { "\($0)" } }))
    await withTaskGroup { group in
      group.addTask { await host.run() }
      group.addTask {
        await withTaskGroup { publishers in
          for publisher in 0..<4 {
            publishers.addTask { for value in 1...250 { total.publish(publisher * 1_000 + value) } }
          }
        }
        total.publish(-1)
        for await state in host.states where state.hasSuffix("-1") { break }
        host.close()
      }
    }
    #expect(host.currentState.hasSuffix(" -1"))
  }
}
