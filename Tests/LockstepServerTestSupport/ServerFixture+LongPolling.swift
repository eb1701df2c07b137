import LockstepTestSupport

@testable import LockstepComposition
@testable import LockstepCollections
import LockstepHTTPServer
@testable import LockstepRoutes
@testable import LockstepScreens

extension ServerFixture {
  /// The number of waiters.
  var waiting: Int { running.withLock { $0?.services.users.states.waiters.metrics.waiting ?? 0 } }

  /// Advances the clock and makes the server read it.
  func advance(by seconds: Double) {
    time.advance(by: seconds)
    running.withLock { $0?.lookAtClock() }
  }
}

extension Device {
  /// Sends a `GET` and returns the connection without waiting for the response.
  func waiting(_ target: String, _ fields: [String] = []) async throws -> RawClient {
    let client = try users.connect()
    try await client.send(StubbedServer.request("GET", target, fields + ["Authorization: Bearer \(token)"]))
    return client
  }
}
