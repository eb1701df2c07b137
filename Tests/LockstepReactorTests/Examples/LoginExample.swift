import LockstepReactor
import LockstepReactorTesting
import Testing

/// A login form in the style of MVVM: it has inputs, validations and a command.
private final class LoginViewModel: Sendable {
  struct Credentials: Sendable, Equatable {
    var address = ""
    var password = ""
  }

  static let address = Validator<String>(normalise: { $0.trimmingWhitespace() }) { text in
    if text.isEmpty { return .empty }
    let parts = text.split(separator: "@", omittingEmptySubsequences: false)
    let isAddress = parts.count == 2 && !parts[0].isEmpty && parts[1].contains(".")
    return isAddress ? .ok : .failed(message: "not an address")
  }
  static let password = Validator<String> { text in
    if text.isEmpty { return .empty }
    return text.count > 6 ? .ok : .failed(message: "longer than six characters, please")
  }

  let login: Command<Credentials, String>
  private let credentials = Latest(Credentials())

  init(service: @escaping @Sendable (Credentials) async throws -> String) {
    login = Command(
      input: Credentials(),
      isAllowed: { [Self.address.validate($0.address), Self.password.validate($0.password)].areAllValid },
      work: service
    )
  }

  func setAddress(_ address: String) {
    change { $0.address = address }
  }

  func setPassword(_ password: String) {
    change { $0.password = password }
  }

  private func change(_ body: (inout Credentials) -> Void) {
    var next = credentials.value
    body(&next)
    credentials.publish(next)
    login.update(next)
  }
}

@Suite("Example: a login form", .timeLimit(.minutes(10)))
struct LoginExample {
  @Test("The command is enabled only if the address is valid and the password has more than six characters")
  func enabled() {
    let scheduler = TestScheduler()
    let form = LoginViewModel { _ in "session" }
    let enabled = scheduler.observe(form.login.enabled, from: 0)
    scheduler.scheduleAt(100) { form.setAddress("ada@") }
    scheduler.scheduleAt(110) { form.setPassword("1234567") }
    scheduler.scheduleAt(120) { form.setAddress("ada@example.org") }  // both hold
    scheduler.scheduleAt(130) { form.setPassword("123456") }
    scheduler.scheduleAt(140) { form.setPassword("12345678") }  // both hold again
    scheduler.scheduleAt(150) { form.setAddress("") }
    scheduler.start()
    #expect(
      enabled.events == [
        .next(0, false), .next(120, true), .next(130, false), .next(140, true), .next(150, false),
      ]
    )
  }

  @Test("Logging in uses the present inputs, shows that it executes, and gives a session or an error")
  func login() {
    let scheduler = TestScheduler()
    let clock = scheduler.clock
    let form = LoginViewModel { credentials in
      try await clock.sleep(for: .seconds(20))
      if credentials.password == "wrong password" { throw Broken(name: "denied") }
      return "session of \(credentials.address)"
    }
    form.setAddress("ada@example.org")
    form.setPassword("wrong password")
    let executing = scheduler.observe(form.login.executing, from: 0)
    let sessions = scheduler.observe(form.login.values(), from: 0)
    let outcomes = scheduler.createObserver(String.self)
    for time in [100, 110, 200] {
      scheduler.run(from: time) { outcomes.next("\(await form.login.execute())") }
    }
    scheduler.scheduleAt(130) { form.setPassword("right password") }
    scheduler.start()
    #expect(
      executing.events == [
        .next(0, false), .next(100, true), .next(120, false), .next(200, true), .next(220, false),
      ]
    )
    #expect(sessions.events == [.next(220, "session of ada@example.org")])
    #expect(
      outcomes.events == [
        .next(110, "refused(LockstepReactor.CommandOutcome<Swift.String>.Refusal.executing)"),
        .next(120, #"failed(LockstepReactorTests.Broken(name: "denied"))"#),
        .next(220, #"value("session of ada@example.org")"#),
      ]
    )
  }
}
