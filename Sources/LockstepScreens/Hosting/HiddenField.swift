/// A field of a state that clients do not see. States that differ only in hidden fields are equal,
/// so a screen's cursor changes only when clients see a change.
@propertyWrapper
struct HiddenField<Value: Sendable>: Sendable, Equatable {
  var wrappedValue: Value

  static func == (left: HiddenField, right: HiddenField) -> Bool { true }
}
