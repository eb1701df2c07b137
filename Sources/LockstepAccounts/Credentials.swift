import LockstepCollections

/// The unchecked members of a sign-up or a login, and the network of the client that sent them.
public struct Credentials: Sendable {
  /// The e-mail address.
  public let email: String
  /// The password.
  public let password: Password
  /// The name of the new session's device; `nil` if it has none.
  public let device: String?
  /// The network of the client.
  public let network: ClientNetwork

  /// Credentials as a client sends them.
  public init(email: String, password: Password, device: String?, network: ClientNetwork) {
    self.email = email
    self.password = password
    self.device = device
    self.network = network
  }
}

/// The client that asks for a session: the name of its device, and its network.
package struct ClientDevice: Sendable {
  package let device: String?
  package let network: ClientNetwork

  package init(device: String?, network: ClientNetwork) {
    self.device = device
    self.network = network
  }
}

/// A user with a new session.
public struct SignedIn: Sendable, Equatable {
  /// The user.
  public let user: User
  /// The session.
  public let session: Session
  /// The session's token, which only the response to this login or sign-up contains.
  public let token: Token
}

/// Collects all faults of a request, so that one response reports them all.
struct FieldCheck {
  private(set) var faults: [FieldFault] = []

  /// The value that `read` returns. If `read` throws, its error becomes a fault, and the value is
  /// nil.
  mutating func value<Value>(at pointer: String, _ read: () throws -> Value) -> Value? {
    do {
      return try read()
    } catch {
      add(["\(error)"], at: pointer)
      return nil
    }
  }

  mutating func add(_ details: [String], at pointer: String) {
    faults += details.map { FieldFault(pointer: pointer, detail: $0) }
  }

  func finish() throws(AccountsError) {
    if !faults.isEmpty { throw .invalid(faults) }
  }
}
