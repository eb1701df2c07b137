import LockstepCollections

/// What a client sends to sign up or to log in, unchecked.
public struct Credentials: Sendable {
  public let email: String
  public let password: Password
  public let device: String?
  public let network: ClientNetwork

  public init(email: String, password: Password, device: String?, network: ClientNetwork) {
    self.email = email
    self.password = password
    self.device = device
    self.network = network
  }
}

/// A user with a new session.
public struct SignedIn: Sendable {
  public let user: User
  public let session: Session
  /// The session's token, which only this response contains.
  public let token: Token
}
