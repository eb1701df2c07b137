import LockstepTime

/// The state of an issuer's keys, for operators.
package struct IssuerStatus: Sendable, Equatable {
  /// The value of the claim `iss`.
  package let issuer: String
  /// How many keys are in use.
  package internal(set) var keyCount = 0
  /// The time of the last fetch that succeeded; nil if none did.
  package internal(set) var fetchedAt: Timestamp?
  /// How many fetches have failed since the start.
  package internal(set) var failureCount = 0
  /// Why the last fetch failed; nil if it succeeded.
  package internal(set) var lastFailure: String?
}
