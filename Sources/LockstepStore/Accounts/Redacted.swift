/// A value that must never show in a log, an error or a debugger's dump by accident: printed in any way, it shows its
/// type's name alone.
///
/// What it holds is had only by asking for it by name.
public protocol Redacted: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {}

extension Redacted {
  /// The type's name, for example `(Password)`.
  public var description: String { "(\(Self.self))" }

  /// The type's name.
  public var debugDescription: String { description }

  /// A mirror that shows nothing.
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}
