/// A secret that must not appear in logs, errors or debugger output. Every printed form of it shows
/// only the type's name.
public protocol Redacted: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {}

extension Redacted {
  /// For example `(Password)`.
  public var description: String { "(\(Self.self))" }

  /// The same as `description`.
  public var debugDescription: String { description }

  /// A mirror that shows nothing.
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// The stored form of a password, from which the password cannot be computed.
package struct PasswordHash: Sendable, Equatable, Redacted {
  /// The hash with its parameters.
  package let text: String

  package init(_ text: String) {
    self.text = text
  }
}
