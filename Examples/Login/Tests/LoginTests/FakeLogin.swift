import LockstepReactorTesting

@testable import Login

struct LoginRefusal: Error, CustomStringConvertible {
  let description: String
}

/// A server that takes 20 seconds. It accepts the password `correct horse`. It records when requests begin and how
/// they end.
struct FakeLogin: Sendable {
  let scheduler: TestScheduler
  let log: TestObserver<String>

  init(_ scheduler: TestScheduler) {
    self.scheduler = scheduler
    log = scheduler.createObserver()
  }

  func request(_ form: LoginForm) async throws -> Session {
    log.next("\(form.email) begins")
    do {
      try await scheduler.clock.sleep(for: .seconds(20))
    } catch {
      log.next("\(form.email) is cancelled")
      throw error
    }
    log.next("\(form.email) ends")
    guard form.password == "correct horse" else { throw LoginRefusal(description: "The password is wrong.") }
    return Session(token: "session of \(form.email)")
  }
}
