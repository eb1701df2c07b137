import Reactor
import Synchronization
struct Counter: Reactor {
  struct State: Equatable, Sendable { var count = 0; var name = "x" }
  enum Action: Sendable { case add(Int), rename(String) }
  var initialState: State { State() }
  enum Mutation: Sendable { case add(Int), rename(String) }
  func mutate(_ action: Action, in state: State) -> Effect<Mutation> {
    switch action { case .add(let n): .just(.add(n)); case .rename(let s): .just(.rename(s)) }
  }
  static func reduce(_ state: inout State, _ mutation: Mutation) {
    switch mutation { case .add(let n): state.count += n; case .rename(let s): state.name = s }
  }
}
final class Fifo: TaskExecutor {
  let q = Mutex<[UnownedJob]>([])
  func enqueue(_ job: consuming ExecutorJob) { let j = UnownedJob(job); q.withLock { $0.append(j) } }
  func drain() {
    while true {
      let jobs = q.withLock { q in let j = q; q = []; return j }
      if jobs.isEmpty { return }
      for j in jobs { j.runSynchronously(on: asUnownedTaskExecutor()) }
    }
  }
}
func go() {
  let e = Fifo(); let clock = ContinuousClock()
  let host = ReactorHost(Counter())
  let t = Task(executorPreference: e) { await host.run() }
  e.drain()
  let n = 2_000_000
  var d = clock.measure { for i in 0..<n { host.send(.add(1)); if i % 256 == 0 { e.drain() } }; e.drain() }
  print("burst 256", d / n, host.currentState.count)
  d = clock.measure { for _ in 0..<n { host.send(.add(1)); e.drain() } }
  print("burst 1", d / n, host.currentState.count)
  let k = 1_000_000
  d = clock.measure {
    _ = Task(executorPreference: e) { for _ in 0..<k { _ = try await host.submit(.add(1)).reduced() } }
    e.drain()
  }
  print("round trip", d / k, host.currentState.count)
  let r = Counter(); var s = r.initialState
  d = clock.measure { for _ in 0..<n { if case .success(let ms)? = r.mutate(.add(1), in: s).immediateMutations { for m in ms { Counter.reduce(&s, m) } } } }
  print("pure", d / n, s.count)
  let latest = Latest(0)
  let told = Told()
  for _ in 0..<100_000 { _ = Task(executorPreference: e) { for await v in latest.values { if v == 5 { told.n.add(1, ordering: .relaxed); break } } } }
  e.drain()
  for i in 1...5 { d = clock.measure { latest.publish(i); e.drain() }; print("100k", d, told.n.load(ordering: .relaxed)) }
  t.cancel(); e.drain()
}
go()
final class Told: Sendable { let n = Atomic<Int>(0) }
