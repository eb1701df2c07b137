import LockstepCollections
import LockstepJSON

/// A profile on its way to an upstream.
public struct OutgoingProfile: Sendable, Equatable {
  /// The user whose profile it is.
  public let user: UserID
  /// The user's company; `nil` if it is not set.
  public let companyName: String?
  /// The user's position in the company; `nil` if it is not set.
  public let position: String?

  /// The request body. The user is in the body and not in a header field, because servers queue,
  /// log and sign bodies.
  var json: JSON {
    [
      "user": .string(user.description), "companyName": companyName.map(JSON.string) ?? .null,
      "position": position.map(JSON.string) ?? .null,
    ]
  }

  /// The payload of the action `save` of the module `profile`.
  var fields: JSON {
    var fields = JSONObject()
    if let companyName { fields["companyName"] = .string(companyName) }
    if let position { fields["position"] = .string(position) }
    return .object(fields)
  }
}

/// Another server that must accept a profile before it is saved.
public protocol ProfileUpstream: Sendable {
  /// Returns when the upstream has accepted the profile.
  ///
  /// Cancelling the task ends the wait at once, but the profile may still arrive. The same profile
  /// may be sent again. Two profiles sent at the same time may arrive in either order.
  nonisolated(nonsending) func send(_ profile: OutgoingProfile) async throws(UpstreamError)
}

/// Accepts every profile at once, for a server without an upstream.
public struct LocalProfileUpstream: ProfileUpstream {
  /// An upstream that accepts everything.
  public init() {}

  /// Returns at once.
  nonisolated(nonsending) public func send(_ profile: OutgoingProfile) async throws(UpstreamError) {}
}
