/// The id of a `Subject`: a UUIDv7 that can't be mistaken for the id of something else.
public struct Identifier<Subject>: Hashable, Sendable, CustomStringConvertible {
  /// The id itself.
  public let uuid: UUIDv7

  /// An id of its value.
  public init(_ uuid: UUIDv7) {
    self.uuid = uuid
  }

  /// Reads the text form, as `UUIDv7` does; nil when it's none.
  public init?(_ text: some StringProtocol) {
    guard let uuid = UUIDv7(text) else { return nil }
    self.init(uuid)
  }

  /// The text form.
  public var description: String { uuid.description }
}

/// Who a user is.
public typealias UserID = Identifier<User>
/// Which session it is.
public typealias SessionID = Identifier<Session>

extension SessionID {
  /// What a client calls a session: its id, or `current` for the one it asks with; nil when it's neither.
  public init?(_ text: some StringProtocol, current: SessionID) {
    if text == "current" {
      self = current
    } else {
      self.init(text)
    }
  }
}
