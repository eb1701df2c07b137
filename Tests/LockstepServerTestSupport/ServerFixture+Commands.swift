import Glibc
import LockstepHTTP
import LockstepJSON
import LockstepTestSupport

@testable import LockstepComposition

extension ServerFixture {
  /// Sends a request as an operator's command does, while the server runs or not. It never times out, because its
  /// clock stands still.
  @discardableResult
  func command(_ method: Method, _ target: String, _ body: JSON? = nil) async throws -> JSON {
    try await withChannel { try $0.send(method, target, body) }
  }

  func withChannel<Value: Sendable>(
    _ body: @escaping @Sendable (AdministrationChannel) throws -> Value
  ) async throws -> Value {
    let (configuration, time) = (configuration, time.serverTime)
    return try await valueAside {
      try body(AdministrationChannel(configuration, time: time) { _ in usleep(1000) })
    }
  }
}
