import LockstepCollections

/// The members of a sign-up or a login as the client sent them, unchecked.
package struct Credentials: Sendable {
  package let email: String
  package let password: Password
  package let device: String?
  package let network: ClientNetwork

  package init(email: String, password: Password, device: String?, network: ClientNetwork) {
    self.email = email
    self.password = password
    self.device = device
    self.network = network
  }
}

/// A user with a new session.
package struct SignedIn: Sendable, Equatable {
  package let user: User
  package let session: Session
  /// The session's token, which only this response contains.
  package let token: Token
}
