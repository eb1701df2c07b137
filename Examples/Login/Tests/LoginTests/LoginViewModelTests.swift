import LockstepReactor
import LockstepReactorTesting
import Testing

@testable import Login

@Suite("A login in the style of MVVM", .timeLimit(.minutes(10)))
struct LoginViewModelTests {
  private let scheduler = TestScheduler()
  private let server: FakeLogin
  private let model: LoginViewModel

  init() {
    let server = FakeLogin(scheduler)
    self.server = server
    model = LoginViewModel(request: server.request)
  }

  @Test("The button is enabled while the form is valid and no request runs")
  func enabled() {
    let enabled = scheduler.observe(model.login.enabled, from: 0)
    scheduler.scheduleAt(100) { [model] in model.setEmail("ada@example.com") }
    scheduler.scheduleAt(110) { [model] in model.setPassword("correct horse") }
    scheduler.scheduleAt(120) { [model] in model.setPassword("") }
    scheduler.scheduleAt(130) { [model] in model.setPassword("correct horse") }
    scheduler.run(from: 200) { [model] in await model.login.execute() }
    scheduler.start()
    #expect(
      enabled.events == [
        .next(0, false), .next(110, true), .next(120, false), .next(130, true), .next(200, false), .next(220, true),
      ]
    )
  }

  @Test("While a request runs, a second tap is refused, and the request keeps its form")
  func secondTap() {
    model.setEmail("ada@example.com")
    model.setPassword("correct horse")
    let sessions = scheduler.observe(model.login.values(), from: 0)
    let outcomes = scheduler.createObserver(String.self)
    for time in [100, 110] {
      scheduler.run(from: time) { [model] in
        if case .refused(let refusal) = await model.login.execute() { outcomes.next("\(refusal)") }
      }
    }
    scheduler.scheduleAt(105) { [model] in model.setEmail("grace@example.com") }
    scheduler.start()
    #expect(outcomes.events == [.next(110, "executing")])
    #expect(sessions.events == [.next(120, Session(token: "session of ada@example.com"))])
  }

  @Test("An error is an event of its own each time")
  func errors() {
    model.setEmail("ada@example.com")
    model.setPassword("wrong horse")
    let errors = scheduler.createObserver(String.self)
    let stream = model.login.errors()
    scheduler.run { for await error in stream.ignoringLosses { errors.next("\(error)") } }
    for time in [100, 150] { scheduler.run(from: time) { [model] in await model.login.execute() } }
    scheduler.start()
    #expect(errors.events == [.next(120, "The password is wrong."), .next(170, "The password is wrong.")])
  }

  @Test("A cancelled request is no error, and the next one may begin")
  func cancelled() {
    model.setEmail("ada@example.com")
    model.setPassword("correct horse")
    let executing = scheduler.observe(model.login.executing, from: 0)
    let errors = scheduler.observe(model.login.errors(), from: 0)
    scheduler.run(from: 100, until: 110) { [model] in await model.login.execute() }
    scheduler.run(from: 111) { [model] in await model.login.execute() }
    scheduler.start()
    #expect(
      executing.events == [.next(0, false), .next(100, true), .next(110, false), .next(111, true), .next(131, false)]
    )
    #expect(errors.elements.isEmpty)
  }
}
