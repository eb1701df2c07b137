import LockstepCollections
import LockstepJSON

/// A profile on its way to an upstream.
public struct OutgoingProfile: Sendable, Equatable {
  /// Whose it is.
  public let user: UserID
  /// Where they work; nil where they haven't said.
  public let companyName: String?
  /// What they do there; nil where they haven't said.
  public let position: String?

  /// A profile of its parts.
  public init(user: UserID, companyName: String?, position: String?) {
    self.user = user
    self.companyName = companyName
    self.position = position
  }

  /// As it's sent: `{"user","companyName","position"}`; what isn't said is null. Whose it is stands beside the rest and not
  /// in a header field, since bodies are what is queued, logged and signed.
  var json: JSON {
    [
      "user": .string(user.description), "companyName": companyName.map(JSON.string) ?? .null,
      "position": position.map(JSON.string) ?? .null,
    ]
  }
}

/// Who has to take a profile before it's saved.
public protocol ProfileUpstream: Sendable {
  /// Returns when the upstream has taken the profile, or throws why it hasn't.
  ///
  /// Cancelling the task ends the wait at once; the profile may have arrived all the same. The same profile may be sent
  /// again; of two at a time nobody knows which arrives last.
  nonisolated(nonsending) func send(_ profile: OutgoingProfile) async throws(UpstreamError)
}

/// Where there is no upstream: takes everything at once.
public struct LocalProfileUpstream: ProfileUpstream {
  /// One that takes everything.
  public init() {}

  /// See `ProfileUpstream`.
  nonisolated(nonsending) public func send(_ profile: OutgoingProfile) async throws(UpstreamError) {}
}
