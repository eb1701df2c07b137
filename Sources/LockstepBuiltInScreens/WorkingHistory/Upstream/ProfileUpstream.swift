import LockstepCollections
import LockstepJSON
import LockstepReactor

/// A profile on its way to an upstream.
public struct OutgoingProfile: Sendable, Equatable {
  /// The user whose profile it is.
  public let user: UserID
  /// The user's company; `nil` if it is not set.
  public let companyName: String?
  /// The user's position in the company; `nil` if it is not set.
  public let position: String?
  /// The key of the save: the same when the user tries the save again, and another one for the next
  /// save. It is visible ASCII.
  public let idempotencyKey: String

  /// The request body. The user is in the body and not in a header field, because servers queue,
  /// log and sign bodies.
  var json: JSON {
    [
      "user": .string(user.description), "companyName": companyName.map(JSON.string) ?? .null,
      "position": position.map(JSON.string) ?? .null,
    ]
  }
}

/// A profile as an upstream has accepted it. It may have changed the texts, for example their
/// capitals.
public struct AcceptedProfile: Sendable, Equatable {
  /// The company; `nil` if the upstream does not say.
  public var companyName: String?
  /// The position; `nil` if the upstream does not say.
  public var position: String?

  /// A profile as it was accepted.
  public init(companyName: String? = nil, position: String? = nil) {
    self.companyName = companyName
    self.position = position
  }

  /// Reads the body of a response. A text that the body does not have is `nil`.
  init(body: [UInt8]) {
    let object = try? JSON(parsing: body).objectValue
    self.init(companyName: object?["companyName"]?.stringValue, position: object?["position"]?.stringValue)
  }
}

/// Another server that must accept a profile before it is saved.
public protocol ProfileUpstream: Sendable {
  /// Whether the upstream has responded to the last request.
  var reachability: Reachability { get }

  /// Returns when the upstream has accepted the profile.
  ///
  /// Cancelling the task ends the wait at once, but the profile may still arrive. The same profile
  /// may be sent again, with the same idempotency key. Two profiles sent at the same time may arrive
  /// in either order.
  nonisolated(nonsending) func send(_ profile: OutgoingProfile) async throws(UpstreamError) -> AcceptedProfile
}

/// Accepts every profile at once, for a server without an upstream.
public struct LocalProfileUpstream: ProfileUpstream {
  /// Always reachable.
  public let reachability = Reachability()

  /// An upstream that accepts everything.
  public init() {}

  /// Returns at once.
  nonisolated(nonsending) public func send(_ profile: OutgoingProfile) async throws(UpstreamError) -> AcceptedProfile {
    AcceptedProfile()
  }
}
