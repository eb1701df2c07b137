@testable import LockstepCollections
@testable import LockstepStore
@testable import LockstepSync

extension RegisteredLedger {
  /// Changes values of a suite without an idempotency key, and returns the registered defaults
  /// after it.
  @discardableResult
  func change(
    _ suite: String,
    _ decide: @escaping @Sendable (RegisteredDefaults) throws -> [(key: String, value: [UInt8]?)]
  ) async throws -> RegisteredDefaults {
    _ = try await change(
      Change(
        suite: suite,
        key: nil,
        decide: decide,
        response: { _ in StoredResponse(status: 200, fields: [], body: nil) },
        refusal: { _ in nil }
      )
    )
    return current
  }
}
