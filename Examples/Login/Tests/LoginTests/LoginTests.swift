import LockstepReactor
import LockstepReactorTesting
import Testing

@testable import Login

@Suite("A login as a reactor", .timeLimit(.minutes(10)))
struct LoginTests {
  private let scheduler = TestScheduler()
  private let server: FakeLogin

  init() { server = FakeLogin(scheduler) }

  private func test() -> TestReactor<Login> {
    TestReactor(Login(request: server.request), clock: scheduler.clock)
  }

  private func fillIn(_ test: TestReactor<Login>, _ email: String, _ password: String) {
    test.send(.setEmail(email)) { $0.form.email = email }
    test.send(.setPassword(password)) { $0.form.password = password }
  }

  @Test("The form is valid if it has an address and a password of any length")
  func validation() {
    let test = test()
    #expect(test.state.form.emailResult == .empty(message: "Enter your address."))
    #expect(test.state.form.passwordResult == .empty(message: "Enter your password."))
    fillIn(test, "ada@", "correct horse")
    #expect(test.state.form.emailResult == .failed(message: "This is not an address."))
    #expect(!test.state.form.isValid)
    fillIn(test, " Ada@example.com ", "x")
    #expect(test.state.form.isValid)
    test.finish()
  }

  @Test("A submit of an invalid form sends no request and shows an error")
  func invalid() {
    let test = test()
    test.send(.submit) { $0.error = "Enter an address and a password." }
    test.finish()
    #expect(server.log.events == [])
  }

  @Test("A login takes its time and ends with a session")
  func success() {
    let test = test()
    fillIn(test, " Ada@example.com", "correct horse")
    test.send(.submit) { $0.isLoggingIn = true }
    test.advance(by: .seconds(19))
    test.advance(by: .seconds(1))
    test.receive {
      $0.isLoggingIn = false
      $0.session = Session(token: "session of ada@example.com")
    }
    test.finish()
  }

  @Test("A second submit cancels the request of the first and sends the newer form")
  func secondSubmit() {
    let test = test()
    fillIn(test, "ada@example.com", "wrong horse")
    test.send(.submit) { $0.isLoggingIn = true }
    test.advance(by: .seconds(5))
    fillIn(test, "grace@example.com", "correct horse")
    // The state does not change: a login was running before, and is running now.
    test.send(.submit)
    test.advance(by: .seconds(20))
    test.receive {
      $0.isLoggingIn = false
      $0.session = Session(token: "session of grace@example.com")
    }
    test.finish()
    #expect(
      server.log.events == [
        .next(0, "ada@example.com begins"), .next(5, "grace@example.com begins"),
        .next(5, "ada@example.com is cancelled"), .next(25, "grace@example.com ends"),
      ]
    )
  }

  @Test("The same error twice is shown twice, and a view that comes later gets only the last one")
  func errors() {
    let host = ReactorHost(Login(request: server.request))
    scheduler.run { await host.run() }
    for action in [Login.Action.setEmail("ada@example.com"), .setPassword("wrong horse")] { host.send(action) }
    for time in [210, 250] { scheduler.scheduleAt(time) { host.send(.submit) } }
    let errors = scheduler.observe(host.states.pulse(\.$error), from: 200)
    let late = scheduler.observe(host.states.pulse(\.$error), from: 300)
    scheduler.start()
    #expect(
      errors.events == [
        .next(200, nil), .next(230, "The password is wrong."), .next(270, "The password is wrong."), .completed(1000),
      ]
    )
    #expect(late.events == [.next(300, "The password is wrong."), .completed(1000)])
  }
}
