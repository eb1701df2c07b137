/// A secret that must not appear in logs, errors or debugger output: printed in any way, it shows only its type's name.
public protocol Redacted: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {}

extension Redacted {
  /// The type's name, for example `(Password)`.
  public var description: String { "(\(Self.self))" }

  /// The type's name.
  public var debugDescription: String { description }

  /// A mirror that shows nothing.
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}
