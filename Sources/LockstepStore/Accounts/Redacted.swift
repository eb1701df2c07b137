/// A secret that must not appear in logs, errors or debugger output. Every printed form of it shows
/// only the type's name.
package protocol Redacted: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {}

extension Redacted {
  /// For example `(Password)`.
  package var description: String { "(\(Self.self))" }

  package var debugDescription: String { description }

  package var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// The stored form of a password, from which the password cannot be computed.
package struct PasswordHash: Sendable, Equatable, Redacted {
  /// The hash with its parameters.
  package let text: String

  package init(_ text: String) {
    self.text = text
  }
}
