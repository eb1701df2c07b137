/// The id of a `Subject`, a UUIDv7. Ids of users and ids of sessions have different types.
public struct Identifier<Subject>: Hashable, Sendable, CustomStringConvertible {
  /// The id's value.
  public let uuid: UUIDv7

  /// Creates an id from its value.
  public init(_ uuid: UUIDv7) {
    self.uuid = uuid
  }

  /// Reads the text form, as `UUIDv7` does. Returns `nil` for anything else.
  @inlinable
  public init?(_ text: some StringProtocol) {
    guard let uuid = UUIDv7(text) else { return nil }
    self.init(uuid)
  }

  /// The text form.
  public var description: String { uuid.description }
}

/// The id of a user.
public typealias UserID = Identifier<User>
/// The id of a session.
public typealias SessionID = Identifier<Session>

extension SessionID {
  /// Reads a session's id. The text `current` means the session of the request. Returns `nil` for
  /// any other text.
  public init?(_ text: some StringProtocol, current: SessionID) {
    if text == "current" {
      self = current
    } else {
      self.init(text)
    }
  }
}
