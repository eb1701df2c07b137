/// A field of a state that clients do not see. States that differ only in hidden fields are equal,
/// so a screen's cursor changes only when clients see a change.
@propertyWrapper
public struct HiddenField<Value: Sendable>: Sendable, Equatable {
  /// The value.
  public var wrappedValue: Value

  /// Starts with a value.
  public init(wrappedValue: Value) { self.wrappedValue = wrappedValue }

  /// Always true.
  public static func == (left: HiddenField, right: HiddenField) -> Bool { true }
}
